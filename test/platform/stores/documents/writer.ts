import { setTimeout as pause } from 'node:timers/promises';
import { openEmbeddedDocuments } from '../../../../src/platform/stores/documents/embedded/actor.ts';
import { DataDirectory } from '../../../../src/platform/stores/embedded/data-directory.ts';

/**
 * The process that documents-durability.test.ts kills: takes the data directory of its first argument and writes until
 * then, and reports each document once it is acknowledged.
 */
const [directory = '', run = ''] = process.argv.slice(2);
const WRITERS = 16;
const MAX_WRITES = 100_000;

const held = new DataDirectory(directory);
// A lock that nothing refers to is closed by the garbage collector.
process.once('exit', () => held.close());
const documents = openEmbeddedDocuments(`${directory}/documents.sqlite`);
const items = documents.collection<{ _id: string; total: number }>({
  name: 'items',
  indexes: [{ name: 'total', fields: [['total', 1]] }],
});

await Promise.all(
  Array.from({ length: WRITERS }, async (_, writer) => {
    for (let n = 1; n <= MAX_WRITES; n++) {
      const _id = `${run}-${writer}-${n}`;
      await items.insertOne({ _id, total: 0 });
      await items.updateOne({ _id, total: 0 }, { $inc: { total: n } });
      process.stdout.write(`${JSON.stringify({ _id, total: n })}\n`);
      if (process.stdout.writableNeedDrain) await pause(0);
    }
  }),
);
