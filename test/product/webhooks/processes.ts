import { register } from 'prom-client';
import type { Test } from 'tap';
import { readSettings } from '../../../config/index.ts';
import { Capacity } from '../../../src/platform/concurrency/capacity.ts';
import { newId } from '../../../src/platform/ids/ids.ts';
import { OutboundRequests } from '../../../src/platform/outbound/outbound.ts';
import type { Coordination } from '../../../src/platform/stores/coordination/port.ts';
import type { DocumentStore } from '../../../src/platform/stores/documents/port.ts';
import type { CallGate } from '../../../src/product/accounts/gate/gate.ts';
import { EventOutbox } from '../../../src/product/events/open.ts';
import { newSigningSecret } from '../../../src/product/webhooks/endpoints/signing.ts';
import { EndpointsStore } from '../../../src/product/webhooks/endpoints/store.ts';
import { openWebhooks } from '../../../src/product/webhooks/open.ts';

const outbound = new OutboundRequests({ allowedSubnets: ['127.0.0.0/8'], allowsHttp: true });
const settings = readSettings({});
let processes = 0;

export interface ProcessStores {
  documents: DocumentStore;
  coordination: Coordination;
}

/** The webhooks of one process, without its HTTP calls: it spreads events and delivers them. Ends with the test. */
export async function startProcess(
  t: Test,
  stores: ProcessStores,
  now: () => Date = () => new Date(),
  hostId = 'one-host',
) {
  processes += 1;
  // Metrics belong to a process of the system, of which there is one here.
  register.clear();
  const prefix = `${hostId}/${processes}/`;
  const draining = new AbortController();
  const events = await EventOutbox.open(stores);
  const webhooks = await openWebhooks({
    ...stores,
    capacity: new Capacity({
      ...{ ...settings.processes, ...settings.images, ...settings.renders },
      ...{ ...settings.jobs, ...settings.webhooks },
    }),
    events,
    outbound,
    sendMail: async () => undefined,
    gate: {} as CallGate,
    findEmail: async () => null,
    settings: { ...settings.webhooks, SWEEP_INTERVAL_MS: settings.processes.SWEEP_INTERVAL_MS },
    hostId,
    processId: String(processes),
    draining: draining.signal,
    now,
    log: { warn: () => undefined },
  });
  const stop = async () => {
    draining.abort();
    await webhooks.stop?.().catch(() => undefined);
  };
  t.teardown(stop);
  return {
    events,
    stop,
    /** One round of every sweep, as another process performs it. */
    async sweep(): Promise<void> {
      for (const { sweep } of webhooks.sweeps ?? []) while ((await sweep(now())) > 0);
    },
    /** The beginning of the name of every holder. */
    prefix,
  };
}

/** An enabled endpoint for every kind of event, registered a minute ago. */
export async function addEndpoint(documents: DocumentStore, accountId: string, url: string) {
  const endpoints = new EndpointsStore(documents);
  const events = ['job.completed' as const, 'job.item.completed' as const];
  const endpoint = { url, description: '', events, enabled: true, secret: newSigningSecret() };
  return endpoints.insert(accountId, endpoint, new Date(Date.now() - 60_000));
}

export function newAccountId(): string {
  return newId('acc');
}
