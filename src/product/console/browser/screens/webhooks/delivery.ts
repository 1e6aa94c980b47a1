import { api } from '../../api.ts';
import { html } from '../../html.ts';
import { Button } from '../../parts/controls.ts';
import { toast } from '../../parts/overlays.ts';
import { ErrorBox, LabelledValues, NotLoadedPage, Page, Section } from '../../parts/page.ts';
import { useAction, usePoll } from '../../parts/reading.ts';
import { Code, Count, Id, Status, Time } from '../../parts/values.ts';
import { navigate } from '../../router.ts';
import { WEBHOOKS_PATH } from './endpoint.ts';

const DELIVERY_POLL_INTERVAL_MS = 3_000;

/** The page of one delivery: what is sent, and its outcome. */
export function DeliveryPage({ endpointId, deliveryId }: { endpointId: string; deliveryId: string }) {
  const read = (signal: AbortSignal) => api.webhooks.delivery(endpointId, deliveryId, { signal });
  const { data, error, reload } = usePoll(read, [endpointId, deliveryId], DELIVERY_POLL_INTERVAL_MS);
  const resending = useAction();
  const path = `${WEBHOOKS_PATH}/${encodeURIComponent(endpointId)}`;
  const above = { title: 'Deliveries of the endpoint', path };
  if (data === undefined)
    return html`<${NotLoadedPage} title="Delivery" above=${above} error=${error} reload=${reload} />`;
  const resend = () =>
    resending.act(async () => {
      const { id } = await api.webhooks.redeliver(endpointId, deliveryId);
      toast('The event is sent again, as a delivery of its own.');
      navigate(`${path}/${id}`);
    });
  const { eventType, status, responseStatus } = data;
  return html`<${Page}
    title=${eventType}
    above=${above}
    actions=${html`<${Button} kind="primary" isBusy=${resending.isActing} onClick=${resend}>Resend<//>`}
  >
    <${ErrorBox} error=${resending.error ?? error} />
    <${LabelledValues}
      of=${[
        ['Status', html`<${Status} status=${status} />`],
        ['Attempts', html`<${Count} value=${data.attempts} />`],
        ['Queued', html`<${Time} at=${data.createdAt} />`],
        ['Next attempt', data.nextAttemptAt && html`<${Time} at=${data.nextAttemptAt} />`],
        ['Delivered', data.deliveredAt && html`<${Time} at=${data.deliveredAt} />`],
        ['Event id', html`<${Id} id=${data.eventId} />`],
        ['Delivery id', html`<${Id} id=${data.id} />`],
      ]}
    />
    <${Section} title="Answer of the receiver">
      <${LabelledValues}
        of=${[
          ['Status', responseStatus === undefined ? 'none came' : String(responseStatus)],
          ['Failure', data.error],
        ]}
      />
    <//>
    <${Section} title="Request">
      <p class="quiet">
        A POST with the headers Service-Event-Id, Service-Signature and webhook-timestamp. The signature is made again at
        each attempt.
      </p>
      <${Code} samples=${[{ label: 'Body', code: formatJson(data.body) }]} />
    <//>
  <//>`;
}

function formatJson(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
