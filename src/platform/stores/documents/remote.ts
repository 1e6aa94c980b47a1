import type { PrimaryChannel, PrimaryChannelHost } from '../embedded/channel.ts';
import {
  assertNoUndefined,
  type CollectionSpec,
  type DocumentCollection,
  type DocumentStore,
  type DocumentWithId,
} from './port.ts';

/** Calls a method of a collection in the thread or process that owns it. */
type CallMethod = (
  collection: string,
  method: keyof DocumentCollection<DocumentWithId>,
  args: unknown[],
) => Promise<unknown>;

/** A collection that is owned by another thread or process: the documents thread, or the primary. */
export function createRemoteCollection<T extends DocumentWithId>(
  name: string,
  call: CallMethod,
): DocumentCollection<T> {
  // Only the last argument of a method is optional. If it is undefined it is left out, because JSON would turn it into
  // null.
  const send = async <R>(method: keyof DocumentCollection<T>, ...args: unknown[]): Promise<R> =>
    (await call(name, method, args.at(-1) === undefined ? args.slice(0, -1) : args)) as R;
  const sendFiltered = async <R>(
    method: keyof DocumentCollection<T>,
    filter: unknown,
    ...rest: unknown[]
  ): Promise<R> => {
    assertNoUndefined(filter);
    return send<R>(method, filter, ...rest);
  };
  return {
    insertOne: (document) => send('insertOne', document),
    insertMany: (documents) => send('insertMany', documents),
    findOne: (filter, options) => sendFiltered('findOne', filter, options),
    find: (filter, options) => sendFiltered('find', filter, options),
    updateOne: (filter, update, options) => sendFiltered('updateOne', filter, update, options),
    updateMany: (filter, update) => sendFiltered('updateMany', filter, update),
    findOneAndUpdate: (filter, update, options) => sendFiltered('findOneAndUpdate', filter, update, options),
    replaceOne: (filter, document, options) => sendFiltered('replaceOne', filter, document, options),
    deleteOne: (filter) => sendFiltered('deleteOne', filter),
    deleteMany: (filter) => sendFiltered('deleteMany', filter),
    count: (filter) => sendFiltered('count', filter),
    async group(spec) {
      assertNoUndefined(spec.filter);
      return send('group', spec);
    },
  };
}

const SERVICE_NAME = 'documents';

/** The primary's documents, as an API process uses them. Closing them does not close those of the primary. */
export function documentsOverChannel(channel: PrimaryChannel): DocumentStore {
  return {
    collection: <T extends DocumentWithId>(spec: CollectionSpec) =>
      createRemoteCollection<T>(spec.name, (name, method, args) =>
        channel.call(SERVICE_NAME, method, [name, ...args]),
      ),
    async prepare(spec) {
      await channel.call(SERVICE_NAME, 'prepare', [spec]);
    },
    async ping() {
      await channel.call(SERVICE_NAME, 'ping', []);
    },
    async close() {},
  };
}

/** Serves the primary's documents to every API process. */
export function provideDocuments(host: PrimaryChannelHost, documents: DocumentStore): void {
  const collections = new Map<string, DocumentCollection<DocumentWithId>>();

  host.provide(SERVICE_NAME, async (method, args) => {
    if (method === 'ping') return documents.ping();
    if (method === 'prepare') return documents.prepare(args[0] as CollectionSpec);
    const [name, ...rest] = args as [string, ...unknown[]];
    const collection = collections.get(name) ?? documents.collection({ name, indexes: [] });
    collections.set(name, collection);
    const run = collection[method as keyof DocumentCollection<DocumentWithId>] as (
      ...args: unknown[]
    ) => Promise<unknown>;
    return run(...rest);
  });
}
