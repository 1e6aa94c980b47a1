import { html, type View } from '../html.ts';

interface ButtonProps {
  kind?: 'plain' | 'primary' | 'danger' | 'link' | 'icon';
  /** Whether it sends the form that it is in. */
  submits?: boolean;
  isBusy?: boolean;
  isDisabled?: boolean;
  /** Its name where its content is not text. */
  label?: string;
  onClick?: (event: MouseEvent) => void;
  children?: View;
}

/** A button. While it is busy it cannot be pressed, and keeps its width. */
export function Button({
  kind = 'plain',
  submits = false,
  isBusy = false,
  isDisabled = false,
  label,
  onClick,
  children,
}: ButtonProps) {
  return html`<button
    type=${submits ? 'submit' : 'button'}
    class=${`button ${kind}${isBusy ? ' busy' : ''}`}
    aria-label=${label}
    title=${label}
    aria-busy=${isBusy ? 'true' : undefined}
    disabled=${isBusy || isDisabled}
    onClick=${onClick}
  >
    ${children}
  </button>`;
}
