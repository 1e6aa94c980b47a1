import { LRUCache } from 'lru-cache';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import type { DocumentCollection, DocumentStore } from '../../platform/stores/documents/port.ts';
import type { WebhookEventType } from './event.ts';

/** The fields of an endpoint that are read here. The document belongs to the webhooks slice. */
interface Subscription {
  _id: string;
  accountId: string;
  enabled: boolean;
  events: WebhookEventType[];
}

/** The collection of endpoints. Only the webhooks slice writes it. */
export const ENDPOINTS_COLLECTION_NAME = 'webhookEndpoints';

const CHANGED = 'webhooks/subscriptions';
/** How long a cached answer is used if the message about a change was lost. */
const KEEP_MS = 2_000;
const MAX_ACCOUNTS = 10_000;

/** Caches, for a few seconds, which accounts have endpoints for which events. */
export class WebhookSubscriptions {
  readonly #endpoints: DocumentCollection<Subscription>;
  readonly #coordination: Coordination;
  readonly #subscribed = new LRUCache<string, Promise<ReadonlySet<WebhookEventType>>>({
    max: MAX_ACCOUNTS,
    ttl: KEEP_MS,
  });
  #unsubscribe: () => void = () => {};

  private constructor(endpoints: DocumentCollection<Subscription>, coordination: Coordination) {
    this.#endpoints = endpoints;
    this.#coordination = coordination;
  }

  static async open(documents: DocumentStore, coordination: Coordination): Promise<WebhookSubscriptions> {
    const endpoints = await documents.collection<Subscription>({
      name: ENDPOINTS_COLLECTION_NAME,
      indexes: [],
    });
    const subscriptions = new WebhookSubscriptions(endpoints, coordination);
    subscriptions.#unsubscribe = await coordination.subscribe(CHANGED, (accountId) =>
      subscriptions.#subscribed.delete(accountId),
    );
    return subscriptions;
  }

  /**
   * Whether an enabled endpoint of the account subscribes to this type. A positive answer may be outdated, which only
   * costs an event without a receiver. A negative answer is never older than 2 s. So outcomes of an endpoint's first 2
   * s may go unannounced if the message about its registration was lost, and otherwise only those of the few
   * milliseconds that the message takes.
   */
  async isWanted(accountId: string, type: WebhookEventType): Promise<boolean> {
    return (await this.#readTypes(accountId)).has(type);
  }

  /** Announces to every process that the account's endpoints changed. */
  async changed(accountId: string): Promise<void> {
    this.#subscribed.delete(accountId);
    await this.#coordination.publish(CHANGED, accountId);
  }

  close(): void {
    this.#unsubscribe();
  }

  #readTypes(accountId: string): Promise<ReadonlySet<WebhookEventType>> {
    const kept = this.#subscribed.get(accountId);
    if (kept !== undefined) return kept;
    const types = this.#read(accountId);
    this.#subscribed.set(accountId, types);
    // A failed look-up is forgotten, so that the next call looks it up again.
    types.catch(() => this.#subscribed.delete(accountId));
    return types;
  }

  async #read(accountId: string): Promise<ReadonlySet<WebhookEventType>> {
    const enabled = await this.#endpoints.find({ accountId, enabled: true }, { fields: ['events'] });
    return new Set(enabled.flatMap(({ events }) => events));
  }
}
