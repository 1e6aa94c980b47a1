// needs: documents
import t, { type Test } from 'tap';
import { type PagingQuery, readListPage } from '../../../src/platform/http/lists.ts';
import { type DocumentCollection, sortBy } from '../../../src/platform/stores/documents/port.ts';
import { openDocuments } from '../../support/documents.ts';

interface Note {
  _id: string;
  text: string;
}

/** A collection of notes, and a list of the number of rows in each read. */
async function notesOf(t: Test, texts: readonly string[]) {
  const documents = await openDocuments(t);
  const notes = documents.collection<Note>({ name: 'notes', indexes: [] });
  await notes.insertMany(texts.map((text, at) => ({ _id: `n${String(at).padStart(3, '0')}`, text })));
  const reads: number[] = [];
  const watched: DocumentCollection<Note> = {
    ...notes,
    async find(...query) {
      const found = await notes.find(...query);
      reads.push(found.length);
      return found;
    },
  };
  const listing = { name: 'notes', accountId: 'acc_a', filters: {}, sort: sortBy('-_id') };
  return { reads, read: (query: PagingQuery) => readListPage(watched, {}, listing, query, ['text']) };
}

const numbers = (rows: readonly Note[]) => rows.map(({ _id }) => Number(_id.slice(1)));
const range = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, at) => from - at);

t.test('long rows are read a few at a time, short rows in growing parts, and none is lost', async (t) => {
  for (const [text, parts] of [
    ['x'.repeat(30_000), [8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 5]],
    ['x', [8, 16, 32, 45]],
  ] as const) {
    const { reads, read } = await notesOf(t, Array(250).fill(text));
    const first = await read({});
    t.same(numbers(first.rows), range(249, 150));
    t.match(first.meta, { total: 250, page: 0, perPage: 100, hasMore: true });
    t.same(reads, parts);
    const second = await read({ cursor: String(first.meta.nextCursor) });
    t.same(numbers(second.rows), range(149, 50));
    const third = await read({ page: 2 });
    t.same(numbers(third.rows), range(49, 0));
    t.match(third.meta, { total: 250, page: 2, hasMore: false, nextCursor: null });
  }
});

t.test('long pages of one account are read one after the other', async (t) => {
  const { reads, read } = await notesOf(t, Array(24).fill('x'.repeat(30_000)));
  const pages = await Promise.all([read({}), read({}), read({})]);
  for (const { rows } of pages) t.same(numbers(rows), range(23, 0));
  t.same(reads.slice(0, 3), [8, 8, 8], 'whether they are long shows in the first part');
  t.equal(reads.length, 12);
});
