import type { DocumentStore } from '../../../src/platform/stores/documents/port.ts';
import type { Stores } from '../../../src/platform/stores/open.ts';

/** A call to a store, before it is made. */
export interface StoreCall {
  /** The name of a collection, or `objects`. */
  of: string;
  method: string;
  /** Its arguments as JSON, without those that are bytes. */
  text: string;
  run: () => Promise<unknown>;
}

/** The result of a call, in its stead; undefined to make the call. */
export type Hook = (call: StoreCall) => Promise<unknown> | undefined;

/** Stores whose calls pass through a hook, which can refuse them or lose their answers. */
export function hookedStores(stores: Stores, hook: Hook): Stores {
  function hooked<T extends object>(of: string, store: T): T {
    return new Proxy(store, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return (...args: unknown[]) => {
          const run = () => method.apply(target, args);
          const printable = args.filter((argument) => !(argument instanceof Uint8Array));
          return hook({ of, method: String(name), text: JSON.stringify(printable), run }) ?? run();
        };
      },
    });
  }
  const documents: DocumentStore = {
    collection: (spec) => hooked(spec.name, stores.documents.collection<never>(spec)),
    prepare: (spec) => stores.documents.prepare(spec),
    ping: () => stores.documents.ping(),
    close: () => stores.documents.close(),
  };
  return { ...stores, documents, objects: hooked('objects', stores.objects) };
}
