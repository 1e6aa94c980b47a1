import type { Coordination } from '../stores/coordination/port.ts';

/**
 * Places at a provider, shared by the processes of a host. Those of calls (src/accounts/gate/places.ts) are held as long as a
 * connection, which is bounded, and are refused at once; these are held as long as a provider takes, and are waited for.
 */
export interface Places {
  /**
   * Runs the work in a place, waiting a moment for one where few others wait; undefined when there was none. So a
   * provider that hangs keeps a bounded number of items in the hand of this process, and the others stay in the store.
   */
  run<T>(name: string, work: () => Promise<T>): Promise<{ done: T } | undefined>;
}

/** Of a process that died; a living one renews its places long before. */
const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** Places of this process wake who waits here; those of other processes are looked for now and then. */
const LOOK_MS = 250;
const LOOKS = 8;

export function createPlaces(options: {
  coordination: Coordination;
  hostId: string;
  processId: string;
  limit: number;
}): Places {
  const { coordination, hostId, processId, limit } = options;
  const waiting = new Map<string, (() => void)[]>();
  let counter = 0;

  async function take(key: string, holder: string): Promise<boolean> {
    const { place } = await coordination.admit({ place: { key, limit, holder, leaseMs: LEASE_MS } });
    return place;
  }

  async function takeSoon(key: string, holder: string): Promise<boolean> {
    if (await take(key, holder)) return true;
    const queue = waiting.get(key) ?? [];
    if (queue.length >= limit) return false;
    waiting.set(key, queue);
    for (let look = 0; look < LOOKS; look++) {
      await aMoment(queue);
      if (await take(key, holder)) return true;
    }
    return false;
  }

  async function giveBack(key: string, holder: string): Promise<void> {
    // One that could not be given back comes back by itself.
    await coordination.releasePlace(key, holder).catch(() => undefined);
    waiting.get(key)?.shift()?.();
  }

  return {
    async run(name, work) {
      counter += 1;
      const key = `providers/${hostId}/${name}`;
      const holder = `${hostId}/${processId}/provider-${counter}`;
      if (!(await takeSoon(key, holder))) return undefined;
      // A place that could not be renewed only lets one more call through: the call itself goes on.
      const renewal = setInterval(() => {
        coordination.renewPlace(key, holder, LEASE_MS).catch(() => undefined);
      }, RENEW_MS);
      renewal.unref();
      try {
        return { done: await work() };
      } finally {
        clearInterval(renewal);
        await giveBack(key, holder);
      }
    },
  };
}

/** Until a place came back, or it is time to look again. */
function aMoment(queue: (() => void)[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(leave, LOOK_MS);
  queue.push(leave);
  return promise;

  function leave(): void {
    clearTimeout(timer);
    const place = queue.indexOf(leave);
    if (place !== -1) queue.splice(place, 1);
    resolve();
  }
}
