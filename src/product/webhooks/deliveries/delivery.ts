import { derivedId, newId } from '../../../platform/ids/ids.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import { DAY_MS } from '../../../platform/values/units.ts';
import { eventBodyText } from '../../events/event.ts';
import type { OutboxDocument } from '../../events/open.ts';
import type { EndpointDocument } from '../endpoints/endpoint.ts';
import type { WebhookDelivery } from '../schema.ts';

/** The delivery of one event to one endpoint. The schedule sends it, and its owner can read it. */
export interface DeliveryDocument {
  _id: string;
  accountId: string;
  endpointId: string;
  /**
   * The generation of the endpoint at queueing. A delivery that was queued before the endpoint was disabled is never
   * sent after it.
   */
  generation: number;
  /** Whether failed attempts are retried. Tests are not, nor are deliveries that their owner sends again. */
  isRetried: boolean;
  eventId: string;
  eventType: string;
  /** The event as text. Every attempt sends the same bytes. */
  body: string;
  status: WebhookDelivery['status'];
  /** Number of ended attempts. It guards every change: of two writers that read the same number, only one succeeds. */
  attempts: number;
  createdAt: string;
  /**
   * Present while PENDING. The first attempt is due at the instant of the outcome, which keeps the order of outcomes.
   */
  dueAt?: string;
  /** Orders deliveries that are due at one instant. */
  sequence: number;
  deliveredAt: string | null;
  responseStatus: number | null;
  error: string | null;
  expiresAt: string;
}

const KEPT_MS = 14 * DAY_MS;
export const TEST_EVENT_TYPE = 'webhook.test';

/**
 * Makes the delivery of an event to an endpoint. Its id is derived from both, so that an event which is fanned out
 * twice makes only one delivery as long as the record is kept.
 */
export function newDelivery(event: OutboxDocument, endpoint: EndpointDocument, now: Date): DeliveryDocument {
  const createdAt = now.toISOString();
  return {
    ...queued(endpoint, now),
    _id: derivedId('whd', Date.parse(event.createdAt), `${endpoint._id}/${event._id}`),
    isRetried: true,
    eventId: event._id,
    eventType: event.type,
    body: event.body,
    // The writer's clock may be ahead of this one, but nothing may be due later than now.
    dueAt: event.createdAt < createdAt ? event.createdAt : createdAt,
    sequence: event.sequence,
  };
}

/** Makes another delivery of the same event, which its owner asked for. */
export function newRedelivery(
  { eventId, eventType, body }: DeliveryDocument,
  endpoint: EndpointDocument,
  now: Date,
): DeliveryDocument {
  const event = { eventId, eventType, body };
  return { ...queued(endpoint, now), ...event, isRetried: false, dueAt: now.toISOString() };
}

/** Makes the delivery of a new webhook.test. It is never queued, because the caller waits for its only attempt. */
export function newTestDelivery(endpoint: EndpointDocument, now: Date): DeliveryDocument {
  const eventId = newId('evt', now.getTime());
  const eventType = TEST_EVENT_TYPE;
  const data = { message: 'A test of this webhook endpoint, sent because its owner asked for it.' };
  const body = eventBodyText({ id: eventId, type: eventType, createdAt: now.toISOString(), data });
  return { ...queued(endpoint, now), eventId, eventType, body, isRetried: false };
}

function queued({ _id: endpointId, accountId, generation }: EndpointDocument, now: Date) {
  return {
    _id: newId('whd', now.getTime()),
    accountId,
    endpointId,
    generation,
    status: 'PENDING' as const,
    attempts: 0,
    createdAt: now.toISOString(),
    sequence: 0,
    deliveredAt: null,
    responseStatus: null,
    error: null,
    expiresAt: new Date(now.getTime() + KEPT_MS).toISOString(),
  };
}

/** A delivery as the API shows it. */
export function deliveryDataOf(delivery: DeliveryDocument): WebhookDelivery {
  const { _id: id, eventId, eventType, status, attempts, createdAt } = delivery;
  const { dueAt, deliveredAt, responseStatus, error } = delivery;
  const nextAttemptAt = dueAt && (dueAt > createdAt ? dueAt : createdAt);
  const always = { id, eventId, eventType, status, attempts, createdAt };
  return { ...always, ...withoutAbsentFields({ nextAttemptAt, deliveredAt, responseStatus, error }) };
}
