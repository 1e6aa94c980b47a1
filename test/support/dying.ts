import type {
  DocumentCollection,
  DocumentStore,
  DocumentWithId,
} from '../../src/platform/stores/documents/port.ts';

/** Calls that change documents. */
export const DOCUMENT_CHANGES: ReadonlySet<string> = new Set([
  'insertOne',
  'insertMany',
  'updateOne',
  'updateMany',
  'findOneAndUpdate',
  'replaceOne',
  'deleteOne',
  'deleteMany',
]);

/** Calls that change any of the stores; between any two of them a process may die. */
const CHANGES: ReadonlySet<string> = new Set([
  ...DOCUMENT_CHANGES,
  ...['put', 'delete'],
  ...['schedule', 'claimDue', 'settleDue', 'publish'],
]);

/** Where a process dies: just before its n-th change (from 1), or after it and before its answer. */
export interface Death {
  change: number;
  moment: 'before' | 'after';
  /** Ends the real process; a simulated one throws instead. */
  kill?: () => Promise<never>;
}

/** The stores as a process sees them that dies: from there on it neither reads nor changes anything. */
export function dyingStores<S extends { documents: DocumentStore }>(stores: S, death: Death) {
  const life = { changes: 0, isOver: false };

  async function attempt(isChange: boolean, run: () => unknown): Promise<unknown> {
    if (isChange) life.changes += 1;
    const isMoment = isChange && life.changes === death.change;
    if (!life.isOver && !isMoment) return run();
    const isLast = !life.isOver && death.moment === 'after';
    life.isOver = true;
    if (isLast) await run();
    await death.kill?.();
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

  const documents: DocumentStore = {
    collection: <T extends DocumentWithId>(spec: Parameters<DocumentStore['collection']>[0]) =>
      mortal<DocumentCollection<T>>(stores.documents.collection<T>(spec)),
    prepare: (spec) => stores.documents.prepare(spec),
    ping: () => stores.documents.ping(),
    close: () => stores.documents.close(),
  };
  const others = Object.entries(stores).filter(([name]) => name === 'objects' || name === 'coordination');
  const mortals = Object.fromEntries(others.map(([name, store]) => [name, mortal(store as object)]));
  return { ...stores, ...mortals, documents, life };
}
