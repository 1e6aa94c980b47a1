import type { Documents } from '../../../src/platform/stores/documents/port.ts';
import type { Stores } from '../../../src/platform/stores/open.ts';

/** A question to a store, before it is asked. */
export interface Question {
  /** The name of a collection, or `objects`. */
  of: string;
  method: string;
  /** Its words as JSON, but for bytes. */
  text: string;
  ask: () => Promise<unknown>;
}

/** What becomes of a question; it is asked as it is where there is no answer. */
export type Hook = (question: Question) => Promise<unknown> | undefined;

/** Stores whose questions pass through a hook, which can refuse them or lose their answers. */
export function hookedStores(stores: Stores, hook: Hook): Stores {
  function hooked<T extends object>(of: string, store: T): T {
    return new Proxy(store, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return (...words: unknown[]) => {
          const ask = () => method.apply(target, words);
          const plain = words.filter((word) => !(word instanceof Uint8Array));
          return hook({ of, method: String(name), text: JSON.stringify(plain), ask }) ?? ask();
        };
      },
    });
  }
  const documents: Documents = {
    collection: async (spec) => hooked(spec.name, await stores.documents.collection<never>(spec)),
    ping: () => stores.documents.ping(),
    close: () => stores.documents.close(),
  };
  return { ...stores, documents, objects: hooked('objects', stores.objects) };
}
