import type { Coordination } from '../../src/stores/coordination/port.ts';
import type { Collection, Document, Documents } from '../../src/stores/documents/port.ts';

/** Calls that change something; between any two of them a process may die. */
const CHANGES = new Set([
  'insertOne',
  'insertMany',
  'updateOne',
  'updateMany',
  'findOneAndUpdate',
  'deleteOne',
  'deleteMany',
  'schedule',
  'claimDue',
  'settleDue',
  'publish',
]);

/** Where a process dies: just before its n-th change (from 1), or after it and before its answer. */
export interface Death {
  change: number;
  moment: 'before' | 'after';
}

/** The stores as a process sees them that dies: from there on it neither reads nor changes anything. */
export function dyingStores(stores: { documents: Documents; coordination: Coordination }, death: Death) {
  const life = { changes: 0, isOver: false };

  async function attempt(isChange: boolean, run: () => unknown): Promise<unknown> {
    if (isChange) life.changes += 1;
    const isMoment = isChange && life.changes === death.change;
    if (!life.isOver && !isMoment) return run();
    if (!life.isOver && death.moment === 'after') await run();
    life.isOver = true;
    throw new Error('The process is dead.');
  }

  function mortal<T extends object>(store: T): T {
    return new Proxy(store, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return (...args: unknown[]) => attempt(CHANGES.has(String(name)), () => method.apply(target, args));
      },
    });
  }

  const documents: Documents = {
    collection: async <T extends Document>(spec: Parameters<Documents['collection']>[0]) =>
      mortal<Collection<T>>(await stores.documents.collection<T>(spec)),
    ping: () => stores.documents.ping(),
    close: () => stores.documents.close(),
  };
  return { documents, coordination: mortal(stores.coordination), life };
}
