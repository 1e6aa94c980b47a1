import { setTimeout as sleep } from 'node:timers/promises';
import { setDefaultCACertificates } from 'node:tls';
import { pino } from 'pino';
import { readSettings } from '../../config/index.ts';
import { Capacity } from '../../src/platform/concurrency/capacity.ts';
import { newId } from '../../src/platform/ids/ids.ts';
import { createMailSender } from '../../src/platform/mail.ts';
import { OutboundRequests } from '../../src/platform/outbound/outbound.ts';
import { Sweeper } from '../../src/platform/periodic-tasks.ts';
import { PrimaryChannel } from '../../src/platform/stores/embedded/channel.ts';
import { connectStores } from '../../src/platform/stores/open.ts';
import type { CallGate } from '../../src/product/accounts/gate/gate.ts';
import { EventOutbox } from '../../src/product/events/open.ts';
import { openWebhooks } from '../../src/product/webhooks/open.ts';
import { LOOPBACK_CERTIFICATE } from './certificate.ts';

/** The outcomes that a process announces: a number per second, over the accounts in turn, for a duration. */
export interface AnnouncedLoad {
  accountIds: string[];
  perSecond: number;
  seconds: number;
}

/** An API process that serves no calls. It announces outcomes as jobs do, and delivers them. */
setDefaultCACertificates([LOOPBACK_CERTIFICATE]);
const settings = readSettings(process.env);
const stores = await connectStores(settings.stores, new PrimaryChannel());
const now = () => new Date();
const log = { warn: console.error, info: () => undefined };
const events = await EventOutbox.open(stores);
const webhooks = await openWebhooks({
  ...stores,
  capacity: new Capacity({
    ...{ ...settings.processes, ...settings.images, ...settings.renders },
    ...{ ...settings.jobs, ...settings.webhooks },
  }),
  events,
  outbound: new OutboundRequests({ allowedSubnets: ['127.0.0.0/8'], allowsHttp: true }),
  sendMail: createMailSender({ settings: settings.mail, log }),
  gate: {} as CallGate,
  findEmail: async () => null,
  settings: { ...settings.webhooks, SWEEP_INTERVAL_MS: settings.processes.SWEEP_INTERVAL_MS },
  hostId: process.env.DARKROOM_HOST_ID ?? 'bench',
  processId: process.env.DARKROOM_PROCESS_ID ?? String(process.pid),
  draining: new AbortController().signal,
  now,
  log,
});

new Sweeper({
  coordination: stores.coordination,
  owner: `${process.pid}`,
  tasks: webhooks.sweeps ?? [],
  intervalMs: settings.processes.SWEEP_INTERVAL_MS,
  now,
  log: pino({ level: 'silent' }),
}).start();

const ANNOUNCE_INTERVAL_MS = 5;
let turn = 0;

async function announce({ accountIds, perSecond, seconds }: AnnouncedLoad): Promise<void> {
  const startMs = performance.now();
  let written = 0;
  const writes: Promise<void>[] = [];
  while (written < perSecond * seconds) {
    const due = Math.min(((performance.now() - startMs) / 1000) * perSecond, perSecond * seconds);
    for (; written < due; written += 1)
      writes.push(announceOne(accountIds[turn++ % accountIds.length] ?? ''));
    await sleep(ANNOUNCE_INTERVAL_MS);
  }
  await Promise.all(writes);
}

async function announceOne(accountId: string): Promise<void> {
  const createdAt = now().toISOString();
  const data = {
    jobId: newId('job'),
    type: 'process',
    status: 'COMPLETED',
    totalItems: 1,
    completedItems: 1,
  };
  const type = 'job.completed' as const;
  await events.write([{ id: newId('evt'), accountId, type, createdAt, sequence: 1, data }]);
}

process.on('message', async (message) => {
  if ((message as { kind?: string }).kind !== 'load') return;
  await announce((message as { load: AnnouncedLoad }).load);
  process.send?.({ kind: 'announced' });
});
process.on('SIGTERM', async () => {
  await webhooks.stop?.();
  process.exit();
});
process.send?.({ kind: 'ready' });
