import { LRUCache } from 'lru-cache';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import type { Collection, Documents } from '../../platform/stores/documents/port.ts';
import type { EventType } from './event.ts';

/** The fields of an endpoint that are read here; the document belongs to the webhooks slice. */
interface Subscription {
  _id: string;
  accountId: string;
  enabled: boolean;
  events: EventType[];
}

/** The collection of endpoints, read here and written by the webhooks slice alone. */
export const ENDPOINTS_COLLECTION = 'webhookEndpoints';

const CHANGED = 'webhooks/subscriptions';
/** How long an answer is cached when the message of a change was lost. */
const KEEP_MS = 2_000;
const MAX_ACCOUNTS = 10_000;

interface Subscriptions {
  /**
   * Whether an enabled endpoint of the account subscribes to this type. A positive answer may be outdated, which costs
   * an event without a receiver. A negative answer is never older than 2 s: outcomes of an endpoint's first 2 s may go
   * unannounced if the message of its registration was lost, and otherwise only those of the few milliseconds that the
   * message travels.
   */
  isWanted(accountId: string, type: EventType): Promise<boolean>;
  /** Notifies every process that the account's endpoints changed. */
  changed(accountId: string): Promise<void>;
  close(): void;
}

export async function openSubscriptions(
  documents: Documents,
  coordination: Coordination,
): Promise<Subscriptions> {
  const endpoints: Collection<Subscription> = await documents.collection({
    name: ENDPOINTS_COLLECTION,
    indexes: [],
  });
  const subscribed = new LRUCache<string, Promise<ReadonlySet<EventType>>>({
    max: MAX_ACCOUNTS,
    ttl: KEEP_MS,
  });
  const close = await coordination.subscribe(CHANGED, (accountId) => subscribed.delete(accountId));

  async function read(accountId: string): Promise<ReadonlySet<EventType>> {
    const enabled = await endpoints.find({ accountId, enabled: true }, { fields: ['events'] });
    return new Set(enabled.flatMap(({ events }) => events));
  }

  function readTypes(accountId: string): Promise<ReadonlySet<EventType>> {
    const kept = subscribed.get(accountId);
    if (kept !== undefined) return kept;
    const types = read(accountId);
    subscribed.set(accountId, types);
    // A failed look-up is forgotten, so that the next call looks it up again.
    types.catch(() => subscribed.delete(accountId));
    return types;
  }

  return {
    isWanted: async (accountId, type) => (await readTypes(accountId)).has(type),
    async changed(accountId) {
      subscribed.delete(accountId);
      await coordination.publish(CHANGED, accountId);
    },
    close,
  };
}
