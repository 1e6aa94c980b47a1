import { html } from '../html.ts';
import { Dialog } from './overlays.ts';
import { Copy } from './values.ts';

interface SecretDialogProps {
  title: string;
  /** What the secret is for, and what happens if it gets lost or known. */
  text: string;
  secret: string;
  onClose: () => void;
}

/** Shows a secret once; no call of the API returns it again. */
export function SecretDialog({ title, text, secret, onClose }: SecretDialogProps) {
  return html`<${Dialog} title=${title} onClose=${onClose} closes="I have kept it">
    <p>${text}</p>
    <p class="secret"><${Copy} text=${secret} /></p>
  <//>`;
}
