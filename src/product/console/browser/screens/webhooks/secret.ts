import { html } from '../../html.ts';
import { Dialog } from '../../parts/dialog.ts';
import { Copy } from '../../parts/values.ts';

export const WEBHOOKS_PATH = '/console/webhooks';

/** The events that an endpoint may ask for. */
export const EVENTS = ['job.completed', 'job.failed', 'job.item.completed', 'job.item.failed'] as const;
export type WebhookEvent = (typeof EVENTS)[number];

/** Shows a secret, which no call returns again. */
export function Secret({ secret, onClose }: { secret: string; onClose: () => void }) {
  return html`<${Dialog} title="Keep this secret" onClose=${onClose} closes="I have kept it">
    <p>It signs what is sent to this endpoint, and is shown only now. Whoever has it can forge deliveries.</p>
    <p class="secret"><${Copy} text=${secret} /></p>
  <//>`;
}
