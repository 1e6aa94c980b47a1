import type { DocumentStore } from '../../../src/platform/stores/documents/port.ts';
import type { Stores } from '../../../src/platform/stores/open.ts';
import { DOCUMENT_CHANGES } from '../../support/dying.ts';

/** A write that is blocked just before the store, as by a process that is stopped there. */
export interface HeldWrite {
  reached: Promise<void>;
  release(): void;
}

/** Stores of a process whose writes can be held, one by one, by their collection and a pattern of their arguments. */
export function holdableStores(stores: Stores) {
  const holds: Array<{ collection: string; pattern: RegExp; block: () => Promise<void> }> = [];

  const documents: DocumentStore = {
    collection(spec) {
      return new Proxy(stores.documents.collection<never>(spec), {
        get(target, name) {
          const method: unknown = Reflect.get(target, name);
          if (typeof method !== 'function') return method;
          return async (...args: unknown[]) => {
            const text = DOCUMENT_CHANGES.has(String(name)) ? JSON.stringify(args) : '';
            const index = holds.findIndex(
              ({ collection, pattern }) => collection === spec.name && pattern.test(text),
            );
            if (index >= 0) await holds.splice(index, 1)[0]?.block();
            return method.apply(target, args);
          };
        },
      });
    },
    prepare: (spec) => stores.documents.prepare(spec),
    ping: () => stores.documents.ping(),
    close: () => stores.documents.close(),
  };

  return {
    stores: { ...stores, documents },

    /** Holds the next write to a collection whose arguments, as JSON, match a pattern. */
    hold(collection: string, pattern: RegExp): HeldWrite {
      const reached = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      const block = () => {
        reached.resolve();
        return released.promise;
      };
      holds.push({ collection, pattern, block });
      return { reached: reached.promise, release: released.resolve };
    },
  };
}

/** The stores of a process that finds no item to claim: it only reads. */
export function storesOfReader(stores: Stores): Stores {
  const documents: DocumentStore = {
    collection(spec) {
      const collection = stores.documents.collection<never>(spec);
      if (spec.name !== 'jobItems') return collection;
      return new Proxy(collection, {
        get(target, name) {
          const method: unknown = Reflect.get(target, name);
          if (name === 'findOneAndUpdate') return async () => null;
          return typeof method === 'function' ? method.bind(target) : method;
        },
      });
    },
    prepare: (spec) => stores.documents.prepare(spec),
    ping: () => stores.documents.ping(),
    close: () => stores.documents.close(),
  };
  return { ...stores, documents };
}
