import type { Coordination } from '../stores/coordination/port.ts';

/** Places at a provider, shared by the processes of a host. */
export interface Places {
  /** Runs the work in a place; undefined at once when all are taken. */
  run<T>(name: string, work: () => Promise<T>): Promise<{ done: T } | undefined>;
}

/** Of a process that died; a living one renews its places long before. */
const LEASE_MS = 30_000;
const RENEW_MS = 10_000;

export function createPlaces(options: {
  coordination: Coordination;
  hostId: string;
  processId: string;
  limit: number;
}): Places {
  const { coordination, hostId, processId, limit } = options;
  let counter = 0;
  return {
    async run(name, work) {
      counter += 1;
      const key = `providers/${hostId}/${name}`;
      const holder = `${hostId}/${processId}/provider-${counter}`;
      const { slot } = await coordination.admit({ slot: { key, limit, holder, leaseMs: LEASE_MS } });
      if (!slot) return undefined;
      // A place that could not be renewed only lets one more call through: the call itself goes on.
      const renewal = setInterval(() => {
        coordination.renewSlot(key, holder, LEASE_MS).catch(() => undefined);
      }, RENEW_MS);
      renewal.unref();
      try {
        return { done: await work() };
      } finally {
        clearInterval(renewal);
        await coordination.releaseSlot(key, holder).catch(() => undefined);
      }
    },
  };
}
