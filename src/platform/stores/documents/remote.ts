import { checkFilter } from './filter.ts';
import type { Collection, Document } from './port.ts';

/** Carries one call of a collection's method to where the collection is. */
type Ask = (collection: string, method: keyof Collection<Document>, args: unknown[]) => Promise<unknown>;

/** A collection that lives elsewhere: in the documents thread, or in the primary. */
export function collectionThrough<T extends Document>(name: string, ask: Ask): Collection<T> {
  // Every method's last argument alone is optional; left out, it must not arrive as null.
  const askFor = async <R>(method: keyof Collection<T>, ...args: unknown[]): Promise<R> =>
    (await ask(name, method, args.at(-1) === undefined ? args.slice(0, -1) : args)) as R;
  const askWith = async <R>(method: keyof Collection<T>, filter: unknown, ...rest: unknown[]): Promise<R> => {
    checkFilter(filter);
    return askFor<R>(method, filter, ...rest);
  };
  return {
    insertOne: (document) => askFor('insertOne', document),
    insertMany: (documents) => askFor('insertMany', documents),
    findOne: (filter, options) => askWith('findOne', filter, options),
    find: (filter, options) => askWith('find', filter, options),
    updateOne: (filter, update, options) => askWith('updateOne', filter, update, options),
    updateMany: (filter, update) => askWith('updateMany', filter, update),
    findOneAndUpdate: (filter, update, options) => askWith('findOneAndUpdate', filter, update, options),
    replaceOne: (filter, document, options) => askWith('replaceOne', filter, document, options),
    deleteOne: (filter) => askWith('deleteOne', filter),
    deleteMany: (filter) => askWith('deleteMany', filter),
    count: (filter) => askWith('count', filter),
    async group(spec) {
      checkFilter(spec.filter);
      return askFor('group', spec);
    },
  };
}
