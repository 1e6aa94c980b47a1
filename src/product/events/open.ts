import type { Coordination } from '../../platform/stores/coordination/port.ts';
import type { Documents } from '../../platform/stores/documents/port.ts';
import type { EventType, OutboxEvent } from './event.ts';
import { Outbox, type OutboxDocument } from './outbox.ts';
import { openSubscriptions } from './subscriptions.ts';

export interface EventsOptions {
  documents: Documents;
  coordination: Coordination;
}

/** Hears of events that were just written by this process. */
export type EventsListener = (events: OutboxDocument[]) => void;

/** Wakes the processes that spread events, where one wrote some that spreads none itself. */
export const WRITTEN = 'events/written';

/** Announces the outcomes of slices. */
export interface Events {
  /**
   * Whether any endpoint wants events of this type, for the writer to spare itself the trouble. See subscriptions.ts
   * for how old a no may be.
   */
  isWanted(accountId: string, type: EventType): Promise<boolean>;
  /**
   * Resolves when the events are on disk: from then on they are delivered, whatever dies. Writing an event again is
   * harmless, also when it was delivered meanwhile, for the 14 days that its deliveries are on record.
   */
  write(events: readonly OutboxEvent[]): Promise<void>;
}

/**
 * The outbox: events wait here until the webhooks slice has made a delivery for each endpoint that wants them. Each
 * process spreads what it wrote itself; what a dead one left is found by a task of the sweeper.
 */
export async function openEvents({ documents, coordination }: EventsOptions) {
  const outbox = await Outbox.open(documents);
  const subscriptions = await openSubscriptions(documents, coordination);
  let listener: EventsListener | null = null;

  const events: Events = {
    isWanted: subscriptions.isWanted,
    async write(written) {
      const stored = await outbox.insert(written);
      if (listener !== null) listener(stored);
      // A lost wake-up costs seconds: the events are on disk, and a task looks for them.
      else await coordination.publish(WRITTEN, '').catch(() => undefined);
    },
  };

  return {
    ...events,
    outbox,
    subscriptionsChanged: subscriptions.changed,
    /** Sets who spreads what this process writes. */
    onWritten(spread: EventsListener): void {
      listener = spread;
    },
    async stop(): Promise<void> {
      subscriptions.close();
    },
  };
}

export type OpenEvents = Awaited<ReturnType<typeof openEvents>>;
