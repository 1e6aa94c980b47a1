import { html, type View } from '../html.ts';

/**
 * A bar that shows how much of a limit is used.
 * @param limit -1 if there is none.
 */
export function Allowance({ label, used, limit, children }: AllowanceProps) {
  const share = limit > 0 ? Math.min(1, used / limit) : 0;
  return html`<div class="allowance">
    <div class="allowance-head"><span>${label}</span><span class="figure">${children}</span></div>
    ${limit >= 0 && html`<meter min="0" max="1" high="0.9" value=${share} aria-label=${label}></meter>`}
  </div>`;
}

interface AllowanceProps {
  label: string;
  used: number;
  limit: number;
  children?: View;
}
