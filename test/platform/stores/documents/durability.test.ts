// needs: documents
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { openEmbeddedDocuments } from '../../../../src/platform/stores/documents/embedded/actor.ts';
import { StoreUnavailableError } from '../../../../src/platform/stores/documents/port.ts';
import { DataDirectory } from '../../../../src/platform/stores/embedded/data-directory.ts';

const WRITER = fileURLToPath(new URL('./writer.ts', import.meta.url));
const KILLS = 3;
const ACKNOWLEDGED_BEFORE_KILL = 400;

function newDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'darkroom-durability-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Starts a writer, kills it in the middle of its writes, and answers what it had acknowledged by then. */
async function killedWriter(directory: string, run: number): Promise<Array<{ _id: string; total: number }>> {
  const writer: ChildProcess = spawn(process.execPath, [WRITER, directory, String(run)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (writer.stdout === null) throw new Error('The writer has no output.');
  const acknowledged: Array<{ _id: string; total: number }> = [];
  for await (const line of createInterface({ input: writer.stdout })) {
    // The last line may be cut where the process was.
    if (line.endsWith('}')) acknowledged.push(JSON.parse(line));
    if (acknowledged.length === ACKNOWLEDGED_BEFORE_KILL) writer.kill('SIGKILL');
  }
  if (writer.exitCode === null && writer.signalCode === null) await once(writer, 'exit');
  return acknowledged;
}

t.test('what was acknowledged outlives a kill at any time', async (t) => {
  const directory = newDirectory(t);
  for (let run = 1; run <= KILLS; run++) {
    const acknowledged = await killedWriter(directory, run);
    const documents = openEmbeddedDocuments(join(directory, 'documents.sqlite'));
    const items = documents.collection<{ _id: string; total: number }>({
      name: 'items',
      indexes: [{ name: 'total', fields: [['total', 1]] }],
    });
    const found = await items.find({ _id: { $in: acknowledged.map(({ _id }) => _id) } });
    const totals = new Map(found.map(({ _id, total }) => [_id, total]));
    const lost = acknowledged.filter(({ _id, total }) => totals.get(_id) !== total);
    t.same(lost, [], `of ${acknowledged.length} acknowledged writes none is lost`);
    t.equal(await items.count({ total: { $gte: 0 } }), await items.count({}));
    await documents.close();
  }
});

t.test('a data directory has one server, and the next when that is gone', async (t) => {
  const directory = newDirectory(t);
  const writer = spawn(process.execPath, [WRITER, directory, 'lock'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(writer.stdout, 'data');
  t.throws(() => new DataDirectory(directory), {
    message: `The data directory ${directory} is in use by another server (process ${writer.pid}): stop that one, or name another directory by DATA_DIR.`,
  });
  writer.kill('SIGKILL');
  await once(writer, 'exit');

  const mine = new DataDirectory(directory);
  t.throws(() => new DataDirectory(directory), new RegExp(`process ${process.pid}`));
  mine.close();
  new DataDirectory(directory).close();
  t.throws(() => new DataDirectory(WRITER), /^The data directory .* cannot be used: .* DATA_DIR/);
});

t.test('a store that cannot be reached says so, and works once it can', async (t) => {
  const directory = join(newDirectory(t), 'unmounted');
  const documents = openEmbeddedDocuments(join(directory, 'documents.sqlite'));
  await t.rejects(documents.ping(), StoreUnavailableError);
  await t.rejects(documents.prepare({ name: 'items', indexes: [] }), StoreUnavailableError);
  mkdirSync(directory);
  await documents.ping();
  await documents.close();
});

t.test('a damaged database is named with its file and the way back', async (t) => {
  const path = join(newDirectory(t), 'documents.sqlite');
  writeFileSync(path, 'This is no database, and it is longer than a header. '.repeat(10));
  const documents = openEmbeddedDocuments(path);
  const message = new RegExp(`the database ${path} is damaged .*npm run admin -- backup`);
  await t.rejects(documents.ping(), { name: 'StoreUnavailableError', message });
  await documents.close();
});
