import type { Collection, Document, Documents } from '../../src/stores/documents/port.ts';
import type { Objects } from '../../src/stores/objects/port.ts';

const WRITES = new Set([
  'insertOne',
  'updateOne',
  'updateMany',
  'findOneAndUpdate',
  'deleteOne',
  'put',
  'delete',
]);

/** Where a process dies: just before its n-th write (from 1), or after it and before its answer. */
export interface Death {
  write: number;
  moment: 'before' | 'after';
}

/** Both stores as a process sees them that dies: from there on it reads and writes nothing. */
export function dyingStores(stores: { documents: Documents; objects: Objects }, death: Death) {
  const life = { writes: 0, isOver: false };

  async function attempt(isWrite: boolean, run: () => unknown): Promise<unknown> {
    if (isWrite) life.writes += 1;
    const isMoment = isWrite && life.writes === death.write;
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
        return (...args: unknown[]) => attempt(WRITES.has(String(name)), () => method.apply(target, args));
      },
    });
  }

  const documents: Documents = {
    collection: async <T extends Document>(spec: Parameters<Documents['collection']>[0]) =>
      mortal<Collection<T>>(await stores.documents.collection<T>(spec)),
    ping: () => stores.documents.ping(),
    close: () => stores.documents.close(),
  };
  return { documents, objects: mortal(stores.objects), life };
}
