import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { Log } from '../../../platform/tracing/log.ts';
import type { Outbox, OutboxDocument } from '../../events/outbox.ts';
import type { EndpointsStore } from '../endpoints/store.ts';
import { newDelivery } from './delivery.ts';
import { scheduleNow } from './schedule.ts';
import type { DeliveriesStore } from './store.ts';

const BATCH = 200;
/** Younger events are handled by the process that wrote them. */
const LEFT_BEHIND_MS = 3_000;

interface FanOutOptions {
  outbox: Outbox;
  endpoints: EndpointsStore;
  deliveries: DeliveriesStore;
  coordination: Coordination;
  now: () => Date;
  log: Log;
}

interface FanOut {
  /** Accepts events that this process has just written. */
  take(events: readonly OutboxDocument[]): void;
  /** Fans out a batch of the outbox, whichever process wrote it. */
  takeOthers(): void;
  /** Fans out a batch that a dead process left behind. @returns the number of its events. */
  sweep(now: Date): Promise<number>;
  /** Resolves when all accepted events are fanned out. */
  idle(): Promise<void>;
}

/**
 * Makes one delivery of each event for each endpoint that subscribes to it, and then removes the event from the outbox.
 * Every step may run twice, because the id of a delivery follows from event and endpoint.
 */
export function createFanOut(options: FanOutOptions): FanOut {
  const { outbox, endpoints, deliveries, coordination, now, log } = options;
  let waiting: OutboxDocument[] = [];
  let work: Promise<void> | null = null;

  async function fanOut(events: readonly OutboxDocument[]): Promise<void> {
    const accounts = new Set(events.map(({ accountId }) => accountId));
    const enabled = await endpoints.findEnabled([...accounts]);
    const queued = events.flatMap((event) =>
      enabled
        .filter(({ accountId, events: types, enabledAt }) => {
          // An event from before the endpoint took any is not for it, such as one that is written again after a crash.
          return accountId === event.accountId && types.includes(event.type) && enabledAt <= event.createdAt;
        })
        .map((endpoint) => newDelivery(event, endpoint, now())),
    );
    await deliveries.insert(queued);
    await scheduleNow(coordination, queued);
    await outbox.remove(events.map(({ _id }) => _id));
  }

  /** Events that arrive while a batch is being written form the next batch. */
  async function fanOutWaiting(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, BATCH);
      waiting = waiting.slice(BATCH);
      await fanOut(batch).catch((error) =>
        log.warn({ err: error }, 'Events could not be made into deliveries; they wait in the outbox'),
      );
    }
    work = null;
  }

  function take(events: readonly OutboxDocument[]): void {
    waiting.push(...events);
    if (events.length > 0) work ??= fanOutWaiting();
  }

  return {
    take,
    takeOthers() {
      outbox
        .oldest(now(), BATCH)
        .then(take)
        .catch((error) =>
          log.warn({ err: error }, 'The outbox cannot be read; it is looked into again later'),
        );
    },
    async sweep(instant) {
      const before = new Date(instant.getTime() - LEFT_BEHIND_MS);
      const events = await outbox.oldest(before, BATCH);
      if (events.length > 0) await fanOut(events);
      return events.length;
    },
    idle: async () => void (await work),
  };
}
