import type { LoadRow } from '../../../src/host/admin/top.ts';

/** A host with 2 cores that answers 20 calls/s quickly; the fields that matter to a test are changed. */
export function rowWith(changed: Partial<LoadRow> = {}): LoadRow {
  return {
    ...{ name: 'host-a', scope: 'host', requestsPerSecond: 20, p50: 30, p99: 90, waiting: 0 },
    ...{
      waitMs: 2,
      uploadMs: 1,
      pixelsMs: 25,
      storeMs: 1,
      backgroundStoreShare: 0.2,
      refusals: {},
      connections: 4,
    },
    ...{ providerMs: 0, jobItems: 0, webhookAttempts: 0 },
    ...{ memoryBytes: 900_000_000, memoryKills: 0, throttled: 0, stolen: 0, pressure: 0, cpu: 0.5 },
    delivered: { memory: 3, made: 1 },
    ...{ imageThreads: 2, imageBusy: 1, processes: 2, cores: 2 },
    cpuByRole: { primary: 0.05, api: 0.9 },
    memoryByRole: { primary: 150_000_000, api: 750_000_000 },
    countByRole: { primary: 1, api: 2 },
    disk: { freeBytes: 5_000_000_000, reservedBytes: 268_435_456 },
    accounts: [],
    ...changed,
  };
}
