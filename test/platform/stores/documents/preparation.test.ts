// needs: nothing
import t from 'tap';
import { prepareCollections } from '../../../../src/host/collections.ts';
import type { CollectionSpec, DocumentStore } from '../../../../src/platform/stores/documents/port.ts';
import { manualClock } from '../../../support/clock.ts';

t.test('a start that waits for indexes says which, again and again until they are built', async (t) => {
  const clock = manualClock();
  const said: Array<[message: string, collection: unknown, seconds: unknown]> = [];
  const log = {
    info: (context: object, message: string) => {
      const { collection, seconds } = context as Record<string, unknown>;
      said.push([message, collection, seconds]);
    },
  };
  const made: string[] = [];
  const built = Promise.withResolvers<void>();
  const documents = {
    async prepare({ name }: CollectionSpec) {
      if (name === 'large') await built.promise;
      made.push(name);
    },
  } as unknown as DocumentStore;
  const specs = ['small', 'large', 'last'].map((name) => ({ name, indexes: [] }));
  const prepared = prepareCollections(documents, specs, { log, clock });
  await new Promise(setImmediate);
  t.same([made, said], [['small'], []], 'a quick one is not worth a line');
  clock.advance(2_000);
  clock.advance(30_000);
  t.same(said, [
    ['The start waits for indexes to be built', 'large', 2],
    ['The start waits for indexes to be built', 'large', 32],
  ]);
  built.resolve();
  await prepared;
  t.same(made, ['small', 'large', 'last']);
  t.same(said.at(-1), ['Indexes were built', 'large', 32]);
  clock.advance(60_000);
  t.equal(said.length, 3, 'and it says no more');
});
