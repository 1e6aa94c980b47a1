import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { EventLog } from '../../../platform/tracing/tracing.ts';
import type { EventOutbox, OutboxDocument } from '../../events/open.ts';
import type { EndpointsStore } from '../endpoints/store.ts';
import { scheduleEndpointsNow } from './schedule.ts';
import { type DeliveriesStore, newDelivery } from './store.ts';

const MAX_BATCH_SIZE = 200;
/** Younger events are left to the process that wrote them. */
const LEFT_BEHIND_MS = 3_000;

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
 * Every step may run twice, because the id of a delivery is derived from the event and the endpoint.
 */
export class EventFanOut {
  readonly #options: FanOutOptions;
  #waiting: OutboxDocument[] = [];
  #work: Promise<void> | null = null;

  constructor(options: FanOutOptions) {
    this.#options = options;
  }

  /** Accepts events that this process has just written. */
  readonly take = (events: readonly OutboxDocument[]): void => {
    this.#waiting.push(...events);
    if (events.length > 0) this.#work ??= this.#fanOutWaiting();
  };

  /** Fans out a batch of the outbox, whichever process wrote it. */
  readonly takeOthers = (): void => {
    this.#options.outbox
      .oldest(this.#options.now(), MAX_BATCH_SIZE)
      .then(this.take)
      .catch((error) =>
        this.#options.log.warn({ err: error }, 'The outbox cannot be read; it is looked into again later'),
      );
  };

  /** Fans out a batch that a dead process left over. @returns the number of its events. */
  readonly sweep = async (instant: Date): Promise<number> => {
    const before = new Date(instant.getTime() - LEFT_BEHIND_MS);
    const events = await this.#options.outbox.oldest(before, MAX_BATCH_SIZE);
    if (events.length > 0) await this.#fanOut(events);
    return events.length;
  };

  /** Resolves when all accepted events are fanned out. */
  async idle(): Promise<void> {
    return void (await this.#work);
  }

  async #fanOut(events: readonly OutboxDocument[]): Promise<void> {
    const accounts = new Set(events.map(({ accountId }) => accountId));
    const enabled = await this.#options.endpoints.findEnabled([...accounts]);
    const queued = events.flatMap((event) =>
      enabled
        .filter(({ accountId, events: types, enabledAt }) => {
          // Events from before the endpoint was enabled are not for it. Such an event may be written again after a
          // crash.
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
    this.#work = null;
  }
}
