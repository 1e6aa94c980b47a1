import { LRUCache } from 'lru-cache';
import type { ProcessParts } from '../../platform/process-parts.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import {
  type DeclaredCollection,
  type DocumentCollection,
  sortBy,
} from '../../platform/stores/documents/port.ts';
import { eventBodyText, type OutboxEvent, type WebhookEventType } from './event.ts';

/** Receives the events that this process has just written. */
type EventsListener = (events: OutboxDocument[]) => void;

/**
 * The channel that wakes a process which creates deliveries. It is used when the process that wrote the events creates
 * none itself.
 */
export const EVENTS_WRITTEN_CHANNEL = 'events/written';

/**
 * An event as the outbox stores it. The body is stored as text, because callers choose some of its keys, and a store
 * may not accept them as field names.
 */
export interface OutboxDocument extends Omit<OutboxEvent, 'id' | 'data'> {
  _id: string;
  body: string;
}

/** The fields of a webhook endpoint that this module reads. Only the webhooks slice writes the document. */
interface Subscription {
  _id: string;
  accountId: string;
  enabled: boolean;
  events: WebhookEventType[];
}

/** The collection of webhook endpoints. Only the webhooks slice writes to it. */
export const ENDPOINTS_COLLECTION_NAME = 'webhookEndpoints';

const SUBSCRIPTIONS_CHANNEL = 'webhooks/subscriptions';
/** The TTL of cached subscriptions. It limits the harm if the message about a change is lost. */
const SUBSCRIPTIONS_CACHE_TTL_MS = 2_000;
const MAX_CACHED_ACCOUNTS = 10_000;

const OLDEST_FIRST = sortBy('createdAt', 'sequence');

export const OUTBOX_COLLECTION: DeclaredCollection = {
  name: 'outbox',
  indexes: [{ name: 'oldest', fields: OLDEST_FIRST }],
  onAccountDeletion: 'keep',
};

/**
 * The outbox, in which slices announce outcomes. An event stays here until the webhooks slice has created a delivery
 * for each endpoint that subscribes to it. Each process handles the events that it wrote; a sweep handles those that a
 * dead process left.
 */
export class EventOutbox {
  readonly #events: DocumentCollection<OutboxDocument>;
  readonly #endpoints: DocumentCollection<Subscription>;
  readonly #coordination: Coordination;
  /** The event types to which the endpoints of an account subscribe. */
  readonly #wantedTypes = new LRUCache<string, Promise<ReadonlySet<WebhookEventType>>>({
    max: MAX_CACHED_ACCOUNTS,
    ttl: SUBSCRIPTIONS_CACHE_TTL_MS,
  });
  #unsubscribe: () => void = () => {};
  #listener: EventsListener | null = null;

  private constructor({ documents, coordination }: Pick<ProcessParts, 'documents' | 'coordination'>) {
    this.#events = documents.collection(OUTBOX_COLLECTION);
    this.#endpoints = documents.collection({ name: ENDPOINTS_COLLECTION_NAME, indexes: [] });
    this.#coordination = coordination;
  }

  static async open(parts: Pick<ProcessParts, 'documents' | 'coordination'>): Promise<EventOutbox> {
    const outbox = new EventOutbox(parts);
    outbox.#unsubscribe = await parts.coordination.subscribe(SUBSCRIPTIONS_CHANNEL, (accountId) =>
      outbox.#wantedTypes.delete(accountId),
    );
    return outbox;
  }

  /**
   * Whether an enabled endpoint of the account subscribes to this type. If not, the event need not be written. An
   * outdated positive answer costs only an event without a receiver. A negative answer is at most 2 s old: if the
   * message about a new endpoint is lost, outcomes of those 2 s may not be announced to it. Otherwise outcomes are
   * missed only during the few milliseconds that the message takes.
   */
  async isWanted(accountId: string, type: WebhookEventType): Promise<boolean> {
    const cached = this.#wantedTypes.get(accountId);
    if (cached !== undefined) return (await cached).has(type);
    const types = this.#readWantedTypes(accountId);
    this.#wantedTypes.set(accountId, types);
    // A failed read is removed from the cache, so that the next call tries again.
    types.catch(() => this.#wantedTypes.delete(accountId));
    return (await types).has(type);
  }

  /**
   * Stores events. An event that is already stored is skipped: after a crash, its writer may write it again, up to 14
   * days later, because its deliveries are kept that long. When the promise resolves, the events are on disk and will
   * be delivered, even if the process dies.
   */
  async write(written: readonly OutboxEvent[]): Promise<void> {
    const documents = written.map((event) => {
      const { id: _id, accountId, type, createdAt, sequence } = event;
      return { _id, accountId, type, createdAt, sequence, body: eventBodyText(event) };
    });
    if (documents.length > 0) await this.#events.insertMany(documents);
    if (this.#listener !== null) this.#listener(documents);
    // If this message is lost, the events are only a few seconds late, because a sweep finds them.
    else await this.#coordination.publish(EVENTS_WRITTEN_CHANNEL, '').catch(() => undefined);
  }

  /** The oldest events from before an instant whose deliveries are not created yet. */
  async findOldest(before: Date, limit: number): Promise<OutboxDocument[]> {
    return this.#events.find({ createdAt: { $lte: before.toISOString() } }, { sort: OLDEST_FIRST, limit });
  }

  /** Removes events that have become deliveries. */
  async remove(ids: readonly string[]): Promise<void> {
    await this.#events.deleteMany({ _id: { $in: [...ids] } });
  }

  /** Announces to every process that the webhook endpoints of an account changed. */
  readonly announceSubscriptionChange = async (accountId: string): Promise<void> => {
    this.#wantedTypes.delete(accountId);
    await this.#coordination.publish(SUBSCRIPTIONS_CHANNEL, accountId);
  };

  /** Sets the listener that creates deliveries for the events of this process. */
  onWritten(listen: EventsListener): void {
    this.#listener = listen;
  }

  stop(): void {
    this.#unsubscribe();
  }

  async #readWantedTypes(accountId: string): Promise<ReadonlySet<WebhookEventType>> {
    const enabled = await this.#endpoints.find({ accountId, enabled: true }, { fields: ['events'] });
    return new Set(enabled.flatMap(({ events }) => events));
  }
}
