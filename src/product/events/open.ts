import type { Coordination } from '../../platform/stores/coordination/port.ts';
import {
  type Collection,
  type DeclaredCollection,
  type Documents,
  order,
} from '../../platform/stores/documents/port.ts';
import { bodyOf, type EventType, type OutboxEvent } from './event.ts';
import { Subscriptions } from './subscriptions.ts';

interface EventsOptions {
  documents: Documents;
  coordination: Coordination;
}

/** Receives the events that this process has just written. */
type EventsListener = (events: OutboxDocument[]) => void;

/**
 * The channel that wakes processes which fan out events. It is used when the writing process does not fan out events
 * itself.
 */
export const WRITTEN_CHANNEL = 'events/written';

/**
 * An event as the outbox stores it. Its body is stored as text, because the caller chooses its keys, and a store may
 * not accept them as field names.
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

export const OUTBOX_COLLECTION: DeclaredCollection = {
  name: 'outbox',
  indexes: [{ name: 'oldest', fields: OLDEST_FIRST }],
  onAccountDeletion: 'keep',
};

/** The stored events that have not become deliveries yet. */
export class Outbox {
  readonly #events: Collection<OutboxDocument>;

  private constructor(events: Collection<OutboxDocument>) {
    this.#events = events;
  }

  static async open(documents: Documents): Promise<Outbox> {
    return new Outbox(await documents.collection(OUTBOX_COLLECTION));
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

/** Announces the outcomes of slices. */
export interface Events {
  /**
   * Whether any endpoint wants events of this type, so that the writer can skip events without receivers. See
   * subscriptions.ts for how old a negative answer may be.
   */
  isWanted(accountId: string, type: EventType): Promise<boolean>;
  /**
   * Resolves when the events are on disk. From then on they are delivered, even if a process dies. Writing an event
   * twice is harmless for the 14 days for which its deliveries are kept.
   */
  write(events: readonly OutboxEvent[]): Promise<void>;
}

/**
 * The outbox. Events wait here until the webhooks slice has made a delivery for each endpoint that wants them. Each
 * process fans out its own events; a sweep finds the events that a dead process left.
 */
export class OpenEvents implements Events {
  readonly outbox: Outbox;
  readonly #subscriptions: Subscriptions;
  readonly #coordination: Coordination;
  #listener: EventsListener | null = null;

  private constructor(outbox: Outbox, subscriptions: Subscriptions, coordination: Coordination) {
    this.outbox = outbox;
    this.#subscriptions = subscriptions;
    this.#coordination = coordination;
  }

  static async open({ documents, coordination }: EventsOptions): Promise<OpenEvents> {
    const outbox = await Outbox.open(documents);
    return new OpenEvents(outbox, await Subscriptions.open(documents, coordination), coordination);
  }

  isWanted(accountId: string, type: EventType): Promise<boolean> {
    return this.#subscriptions.isWanted(accountId, type);
  }

  async write(written: readonly OutboxEvent[]): Promise<void> {
    const stored = await this.outbox.insert(written);
    if (this.#listener !== null) this.#listener(stored);
    // A lost wake-up costs only seconds: the events are on disk, and a sweep looks for them.
    else await this.#coordination.publish(WRITTEN_CHANNEL, '').catch(() => undefined);
  }

  readonly subscriptionsChanged = (accountId: string): Promise<void> =>
    this.#subscriptions.changed(accountId);

  /** Sets the listener that fans out the events of this process. */
  onWritten(listen: EventsListener): void {
    this.#listener = listen;
  }

  async stop(): Promise<void> {
    this.#subscriptions.close();
  }
}
