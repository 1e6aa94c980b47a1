import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { EventLog } from '../../../platform/tracing/tracing.ts';
import { inBatches } from '../../../platform/values/batches.ts';
import type { EventOutbox, OutboxDocument } from '../../events/open.ts';
import type { EndpointsStore } from '../endpoints/store.ts';
import { scheduleEndpointsNow } from './schedule.ts';
import { type DeliveriesStore, newDelivery } from './store.ts';

/** How many of the waiting events become deliveries together, so that they are sent in the order of their outcomes. */
const MAX_EVENTS_PER_BATCH = 200;
/** How many events, or deliveries, are in one message to or from the store. Each of them may have 256 KB. */
const MAX_DOCUMENTS_PER_CALL = 64;
/** The age from which the sweep handles an event. A younger one is left to the process that wrote it. */
const MIN_LEFT_OVER_EVENT_AGE_MS = 3_000;

interface FanOutOptions {
  outbox: EventOutbox;
  endpoints: EndpointsStore;
  deliveries: DeliveriesStore;
  coordination: Coordination;
  now: () => Date;
  log: EventLog;
}

/**
 * Creates a delivery for each event and each endpoint that subscribes to it, and then removes the event from the
 * outbox. Each step may be repeated, because the id of a delivery is derived from the ids of the event and the
 * endpoint.
 */
export class EventFanOut {
  readonly #options: FanOutOptions;
  #waiting: OutboxDocument[] = [];
  #running: Promise<void> | null = null;

  constructor(options: FanOutOptions) {
    this.#options = options;
  }

  /** Takes events that this process has just written. */
  readonly accept = (events: readonly OutboxDocument[]): void => {
    this.#waiting.push(...events);
    if (events.length > 0) this.#running ??= this.#fanOutWaiting();
  };

  /** Creates the deliveries for a batch of the outbox, including events that other processes wrote. */
  readonly drainOutbox = (): void => {
    this.#options.outbox
      .findOldest(this.#options.now(), MAX_DOCUMENTS_PER_CALL)
      .then(this.accept)
      .catch((error) =>
        this.#options.log.warn({ err: error }, 'The outbox cannot be read; it is looked into again later'),
      );
  };

  /** Creates the deliveries for a batch of events that dead processes left. Returns the number of events. */
  readonly sweep = async (instant: Date): Promise<number> => {
    const before = new Date(instant.getTime() - MIN_LEFT_OVER_EVENT_AGE_MS);
    const events = await this.#options.outbox.findOldest(before, MAX_DOCUMENTS_PER_CALL);
    if (events.length > 0) await this.#fanOut(events);
    return events.length;
  };

  /** Resolves when the deliveries for all accepted events are created. */
  async whenIdle(): Promise<void> {
    return void (await this.#running);
  }

  async #fanOut(events: readonly OutboxDocument[]): Promise<void> {
    const accountIds = new Set(events.map(({ accountId }) => accountId));
    const enabled = await this.#options.endpoints.findEnabled([...accountIds]);
    const queued = events.flatMap((event) =>
      enabled
        .filter(({ accountId, events: types, enabledAt }) => {
          // An endpoint gets no events from before it was last enabled. Such an event may arrive here when it is
          // written again after a crash.
          return accountId === event.accountId && types.includes(event.type) && enabledAt <= event.createdAt;
        })
        .map((endpoint) => newDelivery(event, endpoint, this.#options.now())),
    );
    for (const batch of inBatches(queued, MAX_DOCUMENTS_PER_CALL)) {
      await this.#options.deliveries.insert(batch);
    }
    await scheduleEndpointsNow(this.#options.coordination, queued);
    await this.#options.outbox.remove(events.map(({ _id }) => _id));
  }

  /** Events that arrive while a batch is being written wait for the next batch. */
  async #fanOutWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, MAX_EVENTS_PER_BATCH);
      this.#waiting = this.#waiting.slice(MAX_EVENTS_PER_BATCH);
      await this.#fanOut(batch).catch((error) =>
        this.#options.log.warn(
          { err: error },
          'Events could not be made into deliveries; they wait in the outbox',
        ),
      );
    }
    this.#running = null;
  }
}
