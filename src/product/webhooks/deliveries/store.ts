import { type ListingScope, type ListPage, readListPage } from '../../../platform/http/lists.ts';
import { derivedId, newId } from '../../../platform/ids/ids.ts';
import { deleteExpiredBatch } from '../../../platform/periodic-tasks.ts';
import {
  type DeclaredCollection,
  type DocumentCollection,
  type DocumentStore,
  sortBy,
} from '../../../platform/stores/documents/port.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import { DAY_MS } from '../../../platform/values/units.ts';
import { eventBodyText } from '../../events/event.ts';
import type { OutboxDocument } from '../../events/open.ts';
import type { EndpointDocument } from '../endpoints/store.ts';
import type { WebhookDeliveriesQuery, WebhookDelivery } from '../schema.ts';

/** The delivery of one event to one endpoint, with the record of its attempts. */
export interface DeliveryDocument {
  _id: string;
  accountId: string;
  endpointId: string;
  /**
   * The generation that the endpoint had when the delivery was queued. A delivery that was queued before the endpoint
   * was disabled is never sent afterwards.
   */
  generation: number;
  /** Whether a failed attempt is retried. Test deliveries, and deliveries that the owner has sent again, are not. */
  isRetried: boolean;
  eventId: string;
  eventType: string;
  /** The event as text, so that every attempt sends the same bytes. */
  body: string;
  status: WebhookDelivery['status'];
  /**
   * The number of attempts that have ended. Every change requires the number that was read, so that only one of two
   * concurrent writers succeeds.
   */
  attempts: number;
  createdAt: string;
  /**
   * When the next attempt is due; absent unless the delivery is PENDING. For the first attempt, this is the instant of
   * the outcome, which keeps the order of outcomes.
   */
  dueAt?: string;
  /** The order among deliveries that are due at the same instant. */
  sequence: number;
  deliveredAt: string | null;
  responseStatus: number | null;
  error: string | null;
  expiresAt: string;
}

/** A delivery that is to be sent. */
type QueuedDelivery = DeliveryDocument & Required<Pick<DeliveryDocument, 'dueAt'>>;

const DELIVERY_RECORD_LIFE_MS = 14 * DAY_MS;
const TEST_EVENT_TYPE = 'webhook.test';

/**
 * Makes the delivery of an event to an endpoint. Its id is derived from both. If the event is handled twice, there is
 * still only one delivery, as long as the record is kept.
 */
export function newDelivery(event: OutboxDocument, endpoint: EndpointDocument, now: Date): DeliveryDocument {
  const createdAt = now.toISOString();
  return {
    ...newDeliveryFields(endpoint, now),
    _id: derivedId('whd', Date.parse(event.createdAt), `${endpoint._id}/${event._id}`),
    isRetried: true,
    eventId: event._id,
    eventType: event.type,
    body: event.body,
    // The clock of the process that wrote the event may be ahead, but the delivery must not be due in the future.
    dueAt: event.createdAt < createdAt ? event.createdAt : createdAt,
    sequence: event.sequence,
  };
}

/** Makes another delivery of an event, because the owner requested it. */
export function newRedelivery(
  { eventId, eventType, body }: DeliveryDocument,
  endpoint: EndpointDocument,
  now: Date,
): DeliveryDocument {
  const event = { eventId, eventType, body };
  return { ...newDeliveryFields(endpoint, now), ...event, isRetried: false, dueAt: now.toISOString() };
}

/** Makes the delivery of a new test event. It is not queued: the caller waits for its only attempt. */
export function newTestDelivery(endpoint: EndpointDocument, now: Date): DeliveryDocument {
  const eventId = newId('evt', now.getTime());
  const eventType = TEST_EVENT_TYPE;
  const data = { message: 'A test of this webhook endpoint, sent because its owner asked for it.' };
  const body = eventBodyText({ id: eventId, type: eventType, createdAt: now.toISOString(), data });
  return { ...newDeliveryFields(endpoint, now), eventId, eventType, body, isRetried: false };
}

function newDeliveryFields({ _id: endpointId, accountId, generation }: EndpointDocument, now: Date) {
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
    expiresAt: new Date(now.getTime() + DELIVERY_RECORD_LIFE_MS).toISOString(),
  };
}

/** The fields of a delivery in a listing. The body is not one of them, because it may have 256 KB. */
const LISTED_DELIVERY_FIELDS = [
  'eventId',
  'eventType',
  'status',
  'attempts',
  'createdAt',
  'dueAt',
  'deliveredAt',
  'responseStatus',
  'error',
] as const satisfies ReadonlyArray<keyof DeliveryDocument>;

type ListedDelivery = Pick<DeliveryDocument, '_id' | (typeof LISTED_DELIVERY_FIELDS)[number]>;

export function deliveryDataOf(delivery: ListedDelivery): WebhookDelivery {
  const { _id: id, eventId, eventType, status, attempts, createdAt } = delivery;
  const { dueAt, deliveredAt, responseStatus, error } = delivery;
  const nextAttemptAt = dueAt && (dueAt > createdAt ? dueAt : createdAt);
  const always = { id, eventId, eventType, status, attempts, createdAt };
  return { ...always, ...withoutAbsentFields({ nextAttemptAt, deliveredAt, responseStatus, error }) };
}

/**
 * The order in which deliveries are sent: the one that is due longest first. Deliveries that are due at the same
 * instant are sent in the order of their outcomes.
 */
const DUE_ORDER_FIELDS = ['dueAt', 'sequence'];
const NEWEST_FIRST = sortBy('-createdAt', '-_id');
/** The maximum number of records that the search for failed deliveries reads. */
const MAX_SEARCHED_RECORDS = 20_000;

export const DELIVERIES_COLLECTION: DeclaredCollection = {
  name: 'webhookDeliveries',
  indexes: [
    { name: 'worker', fields: sortBy('endpointId', ...DUE_ORDER_FIELDS), whenPresent: ['dueAt'] },
    { name: 'due', fields: sortBy('dueAt'), whenPresent: ['dueAt'] },
    { name: 'listing', fields: sortBy('endpointId', '-createdAt', '-_id') },
    { name: 'status', fields: sortBy('endpointId', 'status', '-createdAt', '-_id') },
    { name: 'expiry', fields: sortBy('expiresAt') },
  ],
  onAccountDeletion: 'delete',
};

/** What changes in a delivery when an attempt ends or the delivery is closed. */
export type AttemptRecord = Pick<DeliveryDocument, 'status' | 'deliveredAt' | 'responseStatus' | 'error'> & {
  /** When the retry is due; null unless the delivery is PENDING. */
  dueAt: string | null;
};

const CLOSED_DELIVERY_ERROR = 'endpoint disabled';

/** The deliveries of all endpoints: queued ones, and the records of the last 14 days. */
export class DeliveriesStore {
  readonly #deliveries: DocumentCollection<DeliveryDocument>;

  constructor(documents: DocumentStore) {
    this.#deliveries = documents.collection(DELIVERIES_COLLECTION);
  }

  /** Stores the deliveries that are not stored yet. */
  async insert(deliveries: readonly DeliveryDocument[]): Promise<void> {
    if (deliveries.length > 0) await this.#deliveries.insertMany(deliveries);
  }

  async find(accountId: string, endpointId: string, id: string): Promise<DeliveryDocument | null> {
    return this.#deliveries.findOne({ _id: id, accountId, endpointId });
  }

  /** Lists the deliveries of an endpoint, newest first. */
  async list(
    accountId: string,
    endpointId: string,
    { status, ...query }: WebhookDeliveriesQuery,
  ): Promise<ListPage<ListedDelivery>> {
    const filters = { endpointId, ...withoutAbsentFields({ status }) };
    const listing: ListingScope = { name: 'webhook-deliveries', accountId, filters, sort: NEWEST_FIRST };
    return readListPage(this.#deliveries, { accountId, ...filters }, listing, query, LISTED_DELIVERY_FIELDS);
  }

  /**
   * The ids of failed deliveries that were queued at or after `since`, oldest first. A delivery is left out if its
   * event was delivered to the endpoint again later.
   */
  async findUnreceivedIds(accountId: string, endpointId: string, since: Date): Promise<string[]> {
    const filter = { accountId, endpointId, createdAt: { $gte: since.toISOString() } };
    const fields = ['eventId', 'eventType', 'status'];
    const options = { sort: NEWEST_FIRST, limit: MAX_SEARCHED_RECORDS, fields };
    const found = await this.#deliveries.find(filter, options);
    const lastByEvent = new Map<string, DeliveryDocument>();
    for (const delivery of found)
      if (!lastByEvent.has(delivery.eventId)) lastByEvent.set(delivery.eventId, delivery);
    const failed = [...lastByEvent.values()].filter(
      ({ status, eventType }) => status === 'FAILED' && eventType !== TEST_EVENT_TYPE,
    );
    return failed.map(({ _id }) => _id).reverse();
  }

  /** The deliveries with these ids, in the order of the ids. */
  async findByIds(
    accountId: string,
    endpointId: string,
    ids: readonly string[],
  ): Promise<DeliveryDocument[]> {
    const found = await this.#deliveries.find({ accountId, endpointId, _id: { $in: [...ids] } });
    const byId = new Map(found.map((delivery) => [delivery._id, delivery]));
    return ids.flatMap((id) => byId.get(id) ?? []);
  }

  /** The delivery of an endpoint that is sent next, whether due or not; null when none is queued. */
  async findNext(accountId: string, endpointId: string): Promise<QueuedDelivery | null> {
    const filter = { accountId, endpointId, dueAt: { $gt: '' } };
    const next = await this.#deliveries.findOne(filter, { sort: sortBy(...DUE_ORDER_FIELDS) });
    return next as QueuedDelivery | null;
  }

  /**
   * Records an attempt. If the delivery was closed during the attempt, the result is recorded, but there is no retry.
   * @returns false when the delivery has changed or was deleted.
   */
  async recordAttempt(
    { accountId, endpointId, _id, attempts }: DeliveryDocument,
    { dueAt, ...result }: AttemptRecord,
  ): Promise<boolean> {
    const unchanged = { _id, accountId, endpointId, attempts };
    const recorded = { ...result, attempts: attempts + 1 };
    const queued = { ...unchanged, dueAt: { $gt: '' } };
    const update =
      dueAt === null ? { $set: recorded, $unset: { dueAt: '' } } : { $set: { ...recorded, dueAt } };
    const { matched } = await this.#deliveries.updateOne(queued, update);
    if (matched === 1) return true;
    const status = result.status === 'DELIVERED' ? 'DELIVERED' : 'FAILED';
    const filter = { ...unchanged, status: 'FAILED' };
    const closed = await this.#deliveries.updateOne(filter, { $set: { ...recorded, status } });
    return closed.matched === 1;
  }

  /**
   * Closes the queued deliveries of an endpoint whose generation is not higher than `generation`. They are never sent.
   * @returns their number.
   */
  async closeQueued(accountId: string, endpointId: string, generation: number): Promise<number> {
    const queued = { accountId, endpointId, dueAt: { $gt: '' }, generation: { $lte: generation } };
    const closed = {
      $set: { status: 'FAILED', error: CLOSED_DELIVERY_ERROR },
      $unset: { dueAt: '' },
    } as const;
    const { matched } = await this.#deliveries.updateMany(queued, closed);
    return matched;
  }

  /** The next endpoint, in the order of ids, with a delivery that is due before an instant; null after the last one. */
  async findNextDueEndpoint(
    afterId: string,
    until: Date,
  ): Promise<Pick<DeliveryDocument, 'accountId' | 'endpointId' | 'dueAt'> | null> {
    const filter = { endpointId: { $gt: afterId }, dueAt: { $gt: '', $lte: until.toISOString() } };
    const sort = sortBy('endpointId', ...DUE_ORDER_FIELDS);
    return this.#deliveries.findOne(filter, { sort, fields: ['accountId', 'endpointId', 'dueAt'] });
  }

  async countDue(now: Date): Promise<number> {
    return this.#deliveries.count({ dueAt: { $lte: now.toISOString() } });
  }

  async countQueued(accountId: string, endpointId: string): Promise<number> {
    return this.#deliveries.count({ accountId, endpointId, dueAt: { $gt: '' } });
  }

  /** Deletes a batch of records that are older than 14 days. */
  async deleteExpired(now: Date): Promise<number> {
    return deleteExpiredBatch(this.#deliveries, now);
  }
}
