import { derivedId, newId } from '../../../platform/names/ids.ts';
import { present } from '../../../platform/names/present.ts';
import { DAY_MS } from '../../../platform/names/units.ts';
import type { OutboxDocument } from '../../events/outbox.ts';
import type { EndpointDocument } from '../endpoints/endpoint.ts';
import type { Delivery } from '../schema.ts';

/** One event on its way to one endpoint: the truth of the schedule, and the record that the owner reads. */
export interface DeliveryDocument {
  _id: string;
  accountId: string;
  endpointId: string;
  /** That of the endpoint when it was queued: what was queued before a disabling is never sent after it. */
  generation: number;
  /** False for one attempt only: a test, and what the owner asked to be sent again. */
  isRetried: boolean;
  eventId: string;
  eventType: string;
  /** The event as text, the same bytes at every attempt. */
  body: string;
  status: Delivery['status'];
  /**
   * Attempts that ended. The number guards every change: two writers that saw the same number cannot both change it.
   */
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

/**
 * The delivery of an event to an endpoint. Its id follows from the two, so that an event spread twice, by two processes
 * or after a crash, is one delivery for as long as its record is kept.
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
    // The writer's clock may run ahead of this one: nothing is due later than now.
    dueAt: event.createdAt < createdAt ? event.createdAt : createdAt,
    sequence: event.sequence,
  };
}

/** The same event once more, because the owner asks for it. */
export function newRedelivery(
  { eventId, eventType, body }: DeliveryDocument,
  endpoint: EndpointDocument,
  now: Date,
): DeliveryDocument {
  const event = { eventId, eventType, body };
  return { ...queued(endpoint, now), ...event, isRetried: false, dueAt: now.toISOString() };
}

/** A test's delivery: never queued, for the caller waits for its only attempt. */
export function newTest(
  event: { id: string; body: string },
  endpoint: EndpointDocument,
  now: Date,
): DeliveryDocument {
  const { id: eventId, body } = event;
  return { ...queued(endpoint, now), eventId, eventType: 'webhook.test', body, isRetried: false };
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
export function deliveryOf(delivery: DeliveryDocument): Delivery {
  const { _id: id, eventId, eventType, status, attempts, createdAt } = delivery;
  const { dueAt, deliveredAt, responseStatus, error } = delivery;
  return {
    id,
    eventId,
    eventType,
    status,
    attempts,
    createdAt,
    ...present({ nextAttemptAt: dueAt && (dueAt > createdAt ? dueAt : createdAt) }),
    ...present({ deliveredAt, responseStatus, error }),
  };
}
