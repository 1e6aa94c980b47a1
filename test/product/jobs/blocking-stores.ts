import type { Documents } from '../../../src/platform/stores/documents/port.ts';
import type { Stores } from '../../../src/platform/stores/open.ts';
import { DOCUMENT_CHANGES } from '../../support/dying.ts';

/** A write that stands still just before the store, as one of a process that is stopped there. */
export interface HeldWrite {
  reached: Promise<void>;
  release(): void;
}

/** Stores of a process whose writes can be held, one by one, by their collection and a text in them. */
export function holdableStores(stores: Stores) {
  const holds: Array<{ collection: string; words: RegExp; stand: () => Promise<void> }> = [];

  const documents: Documents = {
    async collection(spec) {
      return new Proxy(await stores.documents.collection<never>(spec), {
        get(target, name) {
          const method: unknown = Reflect.get(target, name);
          if (typeof method !== 'function') return method;
          return async (...args: unknown[]) => {
            const text = DOCUMENT_CHANGES.has(String(name)) ? JSON.stringify(args) : '';
            const place = holds.findIndex(
              ({ collection, words }) => collection === spec.name && words.test(text),
            );
            if (place >= 0) await holds.splice(place, 1)[0]?.stand();
            return method.apply(target, args);
          };
        },
      });
    },
    ping: () => stores.documents.ping(),
    close: () => stores.documents.close(),
  };

  return {
    stores: { ...stores, documents },

    /** Holds the next write to a collection whose text has these words. */
    hold(collection: string, words: RegExp): HeldWrite {
      const arrival = Promise.withResolvers<void>();
      const departure = Promise.withResolvers<void>();
      const stand = () => {
        arrival.resolve();
        return departure.promise;
      };
      holds.push({ collection, words, stand });
      return { reached: arrival.promise, release: departure.resolve };
    },
  };
}

/** The stores of a process that finds no item to claim: it reads what others do. */
export function storesOfReader(stores: Stores): Stores {
  const documents: Documents = {
    async collection(spec) {
      const collection = await stores.documents.collection<never>(spec);
      if (spec.name !== 'jobItems') return collection;
      return new Proxy(collection, {
        get(target, name) {
          const method: unknown = Reflect.get(target, name);
          if (name === 'findOneAndUpdate') return async () => null;
          return typeof method === 'function' ? method.bind(target) : method;
        },
      });
    },
    ping: () => stores.documents.ping(),
    close: () => stores.documents.close(),
  };
  return { ...stores, documents };
}
