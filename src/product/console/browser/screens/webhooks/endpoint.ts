import type { BodyOf, QueryOf } from '../../../../../client/calls.ts';
import type { Delivery, WebhookEndpoint } from '../../../../../client/schema.ts';
import { api } from '../../api.ts';
import { html, useState } from '../../html.ts';
import { useBulkAction } from '../../parts/bulk.ts';
import { Button, Field, Select, Tabs } from '../../parts/controls.ts';
import {
  countColumn,
  idColumn,
  LiveSwitch,
  statusColumn,
  timeColumn,
  useLiveList,
} from '../../parts/lists.ts';
import { Dialog, SecretDialog, toast } from '../../parts/overlays.ts';
import { Empty, ErrorBox, LabelledValues, NotLoadedPage, Page, Section } from '../../parts/page.ts';
import { useAction, useLoad } from '../../parts/reading.ts';
import { type Column, Table } from '../../parts/table.ts';
import { Copy, Count, Id, Status, Time } from '../../parts/values.ts';
import { navigate, useQuery } from '../../router.ts';

export const WEBHOOKS_PATH = '/console/webhooks';

export type EventType = NonNullable<BodyOf<'POST /webhook-endpoints'>['events']>[number];
export const EVENT_TYPES: readonly EventType[] = [
  'job.completed',
  'job.failed',
  'job.item.completed',
  'job.item.failed',
];

/** Shows the secret of an endpoint once. */
export function EndpointSecret({ secret, onClose }: { secret: string; onClose: () => void }) {
  const text =
    'It signs what is sent to this endpoint, and is shown only now. Whoever has it can forge deliveries.';
  return html`<${SecretDialog} title="Keep this secret" text=${text} secret=${secret} onClose=${onClose} />`;
}

const DELIVERIES_POLL_INTERVAL_MS = 3_000;

/** The page of an endpoint, with its deliveries. */
export function EndpointPage({ endpointId }: { endpointId: string }) {
  const endpoint = useLoad((signal) => api.webhooks.get(endpointId, { signal }), [endpointId]);
  const [{ status }, setFilters] = useQuery({ status: '' });
  const query: QueryOf<'GET /webhook-endpoints/{endpointId}/deliveries'> =
    status === '' ? {} : { status: status as Delivery['status'] };
  const open = (signal: AbortSignal) => api.webhooks.deliveries(endpointId, query, { signal });
  const options = { keyOf: ({ id }: Delivery) => id, everyMs: DELIVERIES_POLL_INTERVAL_MS };
  const list = useLiveList<Delivery>(open, [endpointId, status], options);
  const bulk = useBulkAction();
  const above = { title: 'Webhooks', path: WEBHOOKS_PATH };
  const { data } = endpoint;
  if (data === undefined) return html`<${NotLoadedPage} title="Endpoint" above=${above} ...${endpoint} />`;
  const reload = () => {
    endpoint.reload();
    list.reload();
  };
  const resend = (since: string) =>
    bulk.run({
      title: 'Sending events again',
      rows: resendFailedEvents(endpointId, since),
      nameOf: String,
      act: async () => undefined,
      onEnd: reload,
    });
  return html`<${Page}
    title=${data.description || 'Endpoint'}
    lead=${html`<${Copy} text=${data.url} />`}
    above=${above}
    actions=${html`<${EndpointActions} endpoint=${data} reload=${reload} />`}
  >
    <${LabelledValues}
      of=${[
        ['Status', html`<${Status} status=${data.enabled ? 'enabled' : 'disabled'} />`],
        ['Why', data.disabledReason],
        ['Failed in a row', html`<${Count} value=${data.consecutiveFailures} />`],
        ['Events', data.events.join(', ')],
        ['Secret', html`<code>${data.secretHint}</code>`],
        ['Id', html`<${Id} id=${data.id} />`],
        ['Registered', html`<${Time} at=${data.createdAt} />`],
        ['Disabled', data.disabledAt && html`<${Time} at=${data.disabledAt} />`],
      ]}
    />
    <${Section} title="Deliveries" actions=${html`<${LiveSwitch} ...${list} />`}>
      <div class="list-head">
        <${Tabs}
          label="Which deliveries"
          choices=${STATUS_TABS}
          current=${status}
          onChoose=${(status: string) => setFilters({ status })}
        />
        <${ResendFailed} isEnabled=${data.enabled && !bulk.isRunning} resend=${resend} />
      </div>
      ${bulk.view}
      <${Table}
        label="Deliveries"
        columns=${DELIVERY_COLUMNS}
        ...${list}
        keyOf=${({ id }: Delivery) => id}
        hrefOf=${({ id }: Delivery) => `${WEBHOOKS_PATH}/${endpointId}/${id}`}
        empty=${
          status === ''
            ? html`<${Empty} title="Nothing was sent yet" text="Send a test, or run a job." />`
            : html`<${Empty} title="No such deliveries" />`
        }
      />
    <//>
  <//>`;
}

const STATUS_TABS = [
  { name: '', label: 'All' },
  { name: 'PENDING', label: 'Pending' },
  { name: 'DELIVERED', label: 'Delivered' },
  { name: 'FAILED', label: 'Failed' },
];

const DELIVERY_COLUMNS: readonly Column<Delivery>[] = [
  { title: 'Event', of: ({ eventType }) => eventType },
  statusColumn(),
  {
    title: 'Answer',
    of: ({ responseStatus, error }) => html`<span title=${error}>${error ?? responseStatus}</span>`,
  },
  countColumn('attempts', 'Attempts', { width: '8.5em' }),
  timeColumn('createdAt', 'Queued'),
  timeColumn('nextAttemptAt', 'Next attempt'),
  idColumn(),
];

function EndpointActions({ endpoint, reload }: { endpoint: WebhookEndpoint; reload: () => void }) {
  const { id, enabled } = endpoint;
  const [secret, setSecret] = useState<string>();
  const { act, actIfConfirmed, isActing, error } = useAction();
  const test = () =>
    act(async () => {
      const { status, error: failure, responseStatus } = await api.webhooks.test(id);
      const isGood = status === 'DELIVERED';
      toast(isGood ? `The test was answered with ${responseStatus}.` : `The test failed: ${failure}`, {
        tone: isGood ? 'good' : 'bad',
      });
      reload();
    });
  const setEnabled = async (enabled: boolean) => {
    await api.webhooks.update(id, { enabled });
    reload();
  };
  const disable = () => {
    const text = 'What is queued for it is closed, and nothing is sent to it until it is enabled again.';
    const question = { title: 'Disable this endpoint?', text, act: 'Disable' };
    return actIfConfirmed(question, () => setEnabled(false));
  };
  const rotate = () => {
    const text =
      'Every later attempt is signed with the new one, retries too: put it into your receiver at once.';
    return actIfConfirmed({ title: 'Replace the secret?', text, act: 'Replace' }, async () => {
      setSecret((await api.webhooks.rotateSecret(id)).secret);
      reload();
    });
  };
  const remove = () => {
    const text = 'What is queued is not sent, and its deliveries can no longer be read.';
    return actIfConfirmed({ title: 'Delete this endpoint?', text, act: 'Delete' }, async () => {
      await api.webhooks.delete(id);
      toast('The endpoint is deleted.');
      navigate(WEBHOOKS_PATH);
    });
  };
  return html`
    <${Button} kind="primary" isBusy=${isActing} onClick=${test}>Send a test<//>
    <${Button} isBusy=${isActing} onClick=${enabled ? disable : () => act(() => setEnabled(true))}>${enabled ? 'Disable' : 'Enable'}<//>
    <${Button} isBusy=${isActing} onClick=${rotate}>Replace secret<//>
    <${Button} kind="danger" isBusy=${isActing} onClick=${remove}>Delete<//>
    <${ErrorBox} error=${error} />
    ${secret && html`<${EndpointSecret} secret=${secret} onClose=${() => setSecret(undefined)} />`}
  `;
}

/**
 * A form that sends failed events again, from an instant that the user chooses. An event has failed if its last
 * delivery did.
 */
function ResendFailed({ isEnabled, resend }: { isEnabled: boolean; resend: (since: string) => void }) {
  const [isOpen, setIsOpen] = useState(false);
  const [hours, setHours] = useState('24');
  const begin = () => {
    setIsOpen(false);
    resend(new Date(Date.now() - Number(hours) * 3_600_000).toISOString());
  };
  return html`
    <${Button} isDisabled=${!isEnabled} onClick=${() => setIsOpen(true)}>Resend failed…<//>
    ${
      isOpen &&
      html`<${Dialog}
        title="Resend what failed"
        closes="Cancel"
        onClose=${() => setIsOpen(false)}
        actions=${html`<${Button} kind="primary" onClick=${begin}>Resend<//>`}
      >
        <p>Each event whose last delivery failed is sent once more, oldest first. Tests are left out.</p>
        <${Field} label="Queued within the last">
          <${Select} value=${hours} choices=${SINCE_CHOICES} onChange=${setHours} />
        <//>
      <//>`
    }
  `;
}

/**
 * Sends the failed events again, batch by batch, until none is left. Yields the number of events so far, once per
 * event.
 */
async function* resendFailedEvents(endpointId: string, since: string): AsyncGenerator<number> {
  let count = 0;
  for (;;) {
    const { queued, left } = await api.webhooks.redeliverFailed(endpointId, since);
    for (let event = 0; event < queued; event += 1) {
      count += 1;
      yield count;
    }
    if (queued === 0 || left === 0) return;
  }
}

const SINCE_CHOICES = [
  { value: '1', label: 'hour' },
  { value: '6', label: '6 hours' },
  { value: '24', label: 'day' },
  { value: '168', label: 'week' },
  { value: '336', label: 'two weeks: all that is kept' },
];
