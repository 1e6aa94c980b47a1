import type { Fix } from '../../../../client/errors.ts';
import type { WebhookEndpoint } from '../../../../client/schema.ts';
import { api } from '../api.ts';
import { html, useState } from '../html.ts';
import { Button, errorMessageAt, Field, onSubmitFields, onText } from '../parts/controls.ts';
import { applyFix } from '../parts/correcting.ts';
import { countColumn, idColumn, timeColumn } from '../parts/lists.ts';
import { Dialog } from '../parts/overlays.ts';
import { Empty, ErrorBox, Page } from '../parts/page.ts';
import { useAction, useRows } from '../parts/reading.ts';
import { type Column, Table } from '../parts/table.ts';
import { Status } from '../parts/values.ts';
import { navigate, type ScreenProps } from '../router.ts';
import { DeliveryPage } from './webhooks/delivery.ts';
import {
  EndpointPage,
  EndpointSecret,
  EVENT_TYPES,
  type EventType,
  WEBHOOKS_PATH,
} from './webhooks/endpoint.ts';

/** The screen of webhook endpoints. It shows all endpoints, one endpoint with its deliveries, or one delivery. */
export default function WebhooksScreen({ rest }: ScreenProps) {
  const [endpointId = '', deliveryId] = rest.split('/').map(decodeURIComponent);
  if (endpointId === '') return html`<${Endpoints} />`;
  if (deliveryId === undefined) return html`<${EndpointPage} key=${endpointId} endpointId=${endpointId} />`;
  return html`<${DeliveryPage} key=${rest} endpointId=${endpointId} deliveryId=${deliveryId} />`;
}

function Endpoints() {
  const [isAdding, setIsAdding] = useState(false);
  const list = useRows((signal) => api.webhooks.list({ signal }));
  const add = html`<${Button} kind="primary" onClick=${() => setIsAdding(true)}>New endpoint<//>`;
  return html`<${Page}
    title="Webhooks"
    lead="Signed announcements of what jobs did, sent to your addresses."
    actions=${add}
  >
    <${Table}
      label="Endpoints"
      columns=${ENDPOINT_COLUMNS}
      keyOf=${({ id }: WebhookEndpoint) => id}
      hrefOf=${({ id }: WebhookEndpoint) => `${WEBHOOKS_PATH}/${id}`}
      ...${list}
      empty=${html`<${Empty}
        title="No endpoints yet"
        text="Register an https address of yours, keep its secret, and send it a test."
        action=${add}
      />`}
    />
    ${isAdding && html`<${NewEndpoint} onClose=${() => setIsAdding(false)} onAdded=${list.reload} />`}
  <//>`;
}

const ENDPOINT_COLUMNS: readonly Column<WebhookEndpoint>[] = [
  { title: 'Address', of: ({ url }) => html`<span title=${url}>${url}</span>` },
  {
    title: 'Status',
    width: '9.5em',
    of: ({ enabled }) => html`<${Status} status=${enabled ? 'enabled' : 'disabled'} />`,
  },
  countColumn('consecutiveFailures', 'Failed in a row', { width: '11em' }),
  { title: 'Description', isHiddenWhenNarrow: true, width: '12em', of: ({ description }) => description },
  timeColumn('createdAt', 'Registered'),
  idColumn(),
];

const NEW_ENDPOINT = {
  url: 'https://',
  description: '',
  events: ['job.completed', 'job.failed'] as EventType[],
};

function NewEndpoint({ onClose, onAdded }: { onClose: () => void; onAdded: () => void }) {
  const [draft, setDraft] = useState(NEW_ENDPOINT);
  const [added, setAdded] = useState<{ id: string; secret: string }>();
  const { act, isActing, error } = useAction();
  const { url, description, events } = draft;
  const set = (change: Partial<typeof draft>) => setDraft({ ...draft, ...change });
  const toggle = (event: EventType) =>
    set({ events: events.includes(event) ? events.filter((one) => one !== event) : [...events, event] });
  const register = () =>
    act(async () => {
      setAdded(await api.webhooks.create(draft));
      onAdded();
    });
  if (added !== undefined)
    return html`<${EndpointSecret} secret=${added.secret} onClose=${() => navigate(`${WEBHOOKS_PATH}/${added.id}`)} />`;
  return html`<${Dialog}
    title="New endpoint"
    closes="Cancel"
    onClose=${onClose}
    actions=${html`<${Button} kind="primary" isBusy=${isActing} onClick=${register}>Register<//>`}
  >
    <form class="form" onSubmit=${onSubmitFields(register)}>
      <${Field} label="Address" hint="https on port 443, reachable from the service." error=${errorMessageAt(error, 'url')}>
        <input type="url" value=${url} onInput=${onText((url) => set({ url }))} />
      <//>
      <${Field} label="Description">
        <input value=${description} onInput=${onText((description) => set({ description }))} />
      <//>
      <fieldset class="choices">
        <legend>Events</legend>
        ${EVENT_TYPES.map(
          (event) => html`<label key=${event}>
            <input type="checkbox" checked=${events.includes(event)} onChange=${() => toggle(event)} /> ${event}
          </label>`,
        )}
      </fieldset>
    </form>
    <${ErrorBox} error=${error} onFix=${(fix: readonly Fix[]) => setDraft(applyFix(draft, fix))} />
  <//>`;
}
