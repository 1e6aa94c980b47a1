import {
  type Collection,
  type DeclaredCollection,
  type Documents,
  order,
} from '../../platform/stores/documents/port.ts';
import { bodyOf, type EventType, type OutboxEvent } from './event.ts';

/**
 * An event as the outbox stores it. Its body is kept as text because its keys are the caller's, and a store may not
 * accept them.
 */
export interface OutboxDocument {
  _id: string;
  accountId: string;
  type: EventType;
  createdAt: string;
  sequence: number;
  body: string;
}

const OLDEST_FIRST = order('createdAt', 'sequence');

export const OUTBOX: DeclaredCollection = {
  name: 'outbox',
  indexes: [{ name: 'oldest', fields: OLDEST_FIRST }],
  onAccountDeletion: 'keep',
};

/** Events that have not been made into deliveries yet. */
export class Outbox {
  readonly #events: Collection<OutboxDocument>;

  private constructor(events: Collection<OutboxDocument>) {
    this.#events = events;
  }

  static async open(documents: Documents): Promise<Outbox> {
    return new Outbox(await documents.collection(OUTBOX));
  }

  /** Stores the events that are not stored yet. An existing id is the same event, written again after a crash. */
  async insert(events: readonly OutboxEvent[]): Promise<OutboxDocument[]> {
    const documents = events.map((event) => {
      const { id: _id, accountId, type, createdAt, sequence } = event;
      return { _id, accountId, type, createdAt, sequence, body: bodyOf(event) };
    });
    if (documents.length > 0) await this.#events.insertMany(documents);
    return documents;
  }

  /** The oldest events before an instant. */
  async oldest(before: Date, limit: number): Promise<OutboxDocument[]> {
    return this.#events.find({ createdAt: { $lte: before.toISOString() } }, { sort: OLDEST_FIRST, limit });
  }

  async remove(ids: readonly string[]): Promise<void> {
    await this.#events.deleteMany({ _id: { $in: [...ids] } });
  }
}
