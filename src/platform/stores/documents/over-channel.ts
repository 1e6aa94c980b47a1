import type { Channel, ChannelHost } from '../embedded/channel.ts';
import type { Collection, CollectionSpec, Document, Documents } from './port.ts';
import { collectionThrough } from './remote.ts';

const SERVICE = 'documents';

/** The documents of the primary, for an API process. Closing them does not close the primary's. */
export function documentsOverChannel(channel: Channel): Documents {
  return {
    async collection<T extends Document>(spec: CollectionSpec) {
      await channel.call(SERVICE, 'declare', [spec]);
      return collectionThrough<T>(spec.name, (name, method, args) =>
        channel.call(SERVICE, method, [name, ...args]),
      );
    },
    async ping() {
      await channel.call(SERVICE, 'ping', []);
    },
    async close() {},
  };
}

/** Serves the primary's documents to every API process. */
export function provideDocuments(host: ChannelHost, documents: Documents): void {
  const collections = new Map<string, Collection<Document>>();

  host.provide(SERVICE, async (method, args) => {
    if (method === 'ping') return documents.ping();
    if (method === 'declare') {
      const spec = args[0] as CollectionSpec;
      collections.set(spec.name, await documents.collection(spec));
      return;
    }
    const [name, ...rest] = args as [string, ...unknown[]];
    const collection = collections.get(name);
    if (collection === undefined) throw new Error(`The collection ${name} was not declared.`);
    const run = collection[method as keyof Collection<Document>] as (...args: unknown[]) => Promise<unknown>;
    return run(...rest);
  });
}
