import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { EventLog } from '../../../platform/tracing/tracing.ts';
import type { EventOutbox, OutboxDocument } from '../../events/open.ts';
import type { EndpointsStore } from '../endpoints/store.ts';
import { scheduleEndpointsNow } from './schedule.ts';
import { type DeliveriesStore, newDelivery } from './store.ts';

const MAX_BATCH_SIZE = 200;
/** The age from which an event counts as left over. A younger event is left to the process that wrote it. */
const MIN_LEFT_OVER_AGE_MS = 3_000;

interface FanOutOptions {
  outbox: EventOutbox;
  endpoints: EndpointsStore;
  deliveries: DeliveriesStore;
  coordination: Coordination;
  now: () => Date;
  log: EventLog;
}

/**
 * Makes a delivery of each event for each endpoint that subscribes to it, and then removes the event from the outbox.
 * Each step may be repeated, because the id of a delivery is derived from the event and the endpoint.
 */
export class EventFanOut {
  readonly #options: FanOutOptions;
  #waiting: OutboxDocument[] = [];
  #running: Promise<void> | null = null;

  constructor(options: FanOutOptions) {
    this.#options = options;
  }

  /** Accepts events that this process has just written. */
  readonly accept = (events: readonly OutboxDocument[]): void => {
    this.#waiting.push(...events);
    if (events.length > 0) this.#running ??= this.#fanOutWaiting();
  };

  /** Fans out a batch of the outbox, also events that other processes wrote. */
  readonly drainOutbox = (): void => {
    this.#options.outbox
      .findOldest(this.#options.now(), MAX_BATCH_SIZE)
      .then(this.accept)
      .catch((error) =>
        this.#options.log.warn({ err: error }, 'The outbox cannot be read; it is looked into again later'),
      );
  };

  /** Fans out a batch of events that dead processes left over. Returns their number. */
  readonly sweep = async (instant: Date): Promise<number> => {
    const before = new Date(instant.getTime() - MIN_LEFT_OVER_AGE_MS);
    const events = await this.#options.outbox.findOldest(before, MAX_BATCH_SIZE);
    if (events.length > 0) await this.#fanOut(events);
    return events.length;
  };

  /** Resolves when all accepted events are fanned out. */
  async whenIdle(): Promise<void> {
    return void (await this.#running);
  }

  async #fanOut(events: readonly OutboxDocument[]): Promise<void> {
    const accounts = new Set(events.map(({ accountId }) => accountId));
    const enabled = await this.#options.endpoints.findEnabled([...accounts]);
    const queued = events.flatMap((event) =>
      enabled
        .filter(({ accountId, events: types, enabledAt }) => {
          // An endpoint gets no events from before it was enabled. They may appear here if they are written again after
          // a crash.
          return accountId === event.accountId && types.includes(event.type) && enabledAt <= event.createdAt;
        })
        .map((endpoint) => newDelivery(event, endpoint, this.#options.now())),
    );
    await this.#options.deliveries.insert(queued);
    await scheduleEndpointsNow(this.#options.coordination, queued);
    await this.#options.outbox.remove(events.map(({ _id }) => _id));
  }

  /** Events that arrive while a batch is being written form the next batch. */
  async #fanOutWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, MAX_BATCH_SIZE);
      this.#waiting = this.#waiting.slice(MAX_BATCH_SIZE);
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
