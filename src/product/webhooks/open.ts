import type { ProductSlice } from '../../platform/http/slice.ts';
import type { SendMail } from '../../platform/mail.ts';
import type { OutboundRequests } from '../../platform/outbound/outbound.ts';
import type { ProcessParts } from '../../platform/process-parts.ts';
import type { SettingsOf } from '../../platform/setting.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import { EVENTS_WRITTEN_CHANNEL, type EventOutbox } from '../events/open.ts';
import type { webhooksSettings } from './config.ts';
import { createAttemptDelivery } from './deliveries/attempt.ts';
import { WebhookDispatcher } from './deliveries/dispatcher.ts';
import { createEndpointWorker, WebhookMetrics } from './deliveries/endpoint-worker.ts';
import { EventFanOut } from './deliveries/fan-out.ts';
import { deliveryRoutes } from './deliveries/routes.ts';
import { rebuildEndpointSchedule } from './deliveries/schedule.ts';
import { AttemptSlots } from './deliveries/slots.ts';
import { DeliveriesStore } from './deliveries/store.ts';
import { AttemptTail } from './deliveries/tail.ts';
import { EndpointDisabling } from './endpoints/disabling.ts';
import { endpointRoutes } from './endpoints/routes.ts';
import { EndpointsStore } from './endpoints/store.ts';

/** The interval of the sweep for events whose process died before it created their deliveries, in milliseconds. */
const OUTBOX_SWEEP_INTERVAL_MS = 5_000;
/** The interval at which the schedule is rebuilt in case it was lost, in milliseconds. */
const SCHEDULE_REBUILD_INTERVAL_MS = 15_000;

interface WebhooksOptions extends Omit<ProcessParts, 'objects' | 'publicUrl'> {
  events: EventOutbox;
  outbound: OutboundRequests;
  sendMail: SendMail;
  gate: CallGate;
  /** Finds the e-mail address of an account's owner; null when the account no longer exists. */
  findEmail: (accountId: string) => Promise<string | null>;
  settings: SettingsOf<typeof webhooksSettings> & { SWEEP_INTERVAL_MS: number };
}

/**
 * Opens the webhooks slice: the routes of owners, and the workers that send events. An event passes through these files
 * of deliveries/:
 *
 *   fan-out.ts          an event of the outbox becomes a delivery for each endpoint that subscribes to it
 *   schedule.ts         the endpoints with deliveries, by the time at which they are due; all processes share it
 *   dispatcher.ts       claims due endpoints, each in one process at a time, within the slots of slots.ts
 *   endpoint-worker.ts  works through the queue of an endpoint: one delivery at a time, the oldest due first
 *   attempt.ts          signs and sends a delivery, and says when a failed one is tried again
 *
 * An endpoint whose deliveries fail repeatedly is disabled (endpoints/disabling.ts). Nothing is lost when a process
 * dies: an event stays in the outbox until its deliveries are stored, and the schedule is rebuilt from them.
 */
export async function openWebhooks(options: WebhooksOptions): Promise<ProductSlice> {
  const { documents, coordination, capacity, events, settings, now, log } = options;
  const { WEBHOOK_CONCURRENCY_PER_ACCOUNT: attemptsPerAccount } = settings;
  const { announceSubscriptionChange } = events;
  const endpoints = new EndpointsStore(documents);
  const deliveries = new DeliveriesStore(documents);
  const parts = { ...options, endpoints, deliveries, announceSubscriptionChange };
  const tail = await AttemptTail.open(coordination);
  const metrics = new WebhookMetrics(endpoints, deliveries, now);
  const disabling = new EndpointDisabling(parts);
  const attempt = createAttemptDelivery({ ...options, onAttempt: tail.onAttempt });
  const shareOfProcess = (slots: number) => Math.max(1, Math.floor(slots / capacity.processes()));
  const slots = new AttemptSlots({
    slots: () => shareOfProcess(capacity.webhookAttempts()),
    slotsOfAccount: () => shareOfProcess(attemptsPerAccount),
    now: () => performance.now(),
  });
  const runEndpointWorker = createEndpointWorker({ ...parts, disabling, attempt, metrics });
  const holderPrefix = `${options.hostId}/${options.processId}/`;
  const dispatcher = new WebhookDispatcher({
    ...options,
    runEndpointWorker,
    holderPrefix,
    slots,
  });
  const fanOut = new EventFanOut({ ...parts, outbox: events });
  const atMost = (intervalMs: number) => Math.min(intervalMs, settings.SWEEP_INTERVAL_MS);
  events.onWritten(fanOut.accept);
  const unsubscribe = await coordination.subscribe(EVENTS_WRITTEN_CHANNEL, fanOut.drainOutbox);
  options.draining.addEventListener('abort', () => void dispatcher.stop(), { once: true });
  await dispatcher.start();
  // Handles events that were left when the service stopped. The first sweep would come later.
  fanOut.drainOutbox();
  rebuildEndpointSchedule(coordination, deliveries, now()).catch((error) =>
    log.warn({ err: error }, 'The schedule of webhooks is rebuilt in the next round'),
  );

  return {
    async routes(app) {
      await app.register(endpointRoutes, { ...parts, disabling });
      await app.register(deliveryRoutes, { ...parts, attempt, slots, attemptsPerAccount });
    },

    sweeps: [
      { name: 'outbox', intervalMs: atMost(OUTBOX_SWEEP_INTERVAL_MS), sweep: fanOut.sweep },
      {
        name: 'webhook schedule',
        intervalMs: atMost(SCHEDULE_REBUILD_INTERVAL_MS),
        batches: 1,
        sweep: async (instant) => {
          await rebuildEndpointSchedule(coordination, deliveries, instant);
          return 0;
        },
      },
      { name: 'webhook notices', sweep: disabling.mailNext },
      { name: 'webhook records', sweep: (instant) => deliveries.deleteExpired(instant) },
    ],

    /** Resolves when the deliveries for this process's events are created, and its running attempts have ended. */
    async stop(): Promise<void> {
      await Promise.all([fanOut.whenIdle(), dispatcher.stop(), disabling.whenIdle()]);
      unsubscribe();
      tail.close();
      events.stop();
    },
  };
}
