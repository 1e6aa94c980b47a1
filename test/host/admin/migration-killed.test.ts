// needs: documents
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { openEmbeddedDocuments } from '../../../src/platform/stores/documents/embedded/actor.ts';
import { FileObjectStore } from '../../../src/platform/stores/objects/files.ts';

const ROOT = join(import.meta.dirname, '../../..');
const ADMIN = join(ROOT, 'src/host/admin.ts');
const DOCUMENTS = 12_000;
const OBJECTS = 600;
const POLL_MS = 10;
/**
 * The command is killed when its target has grown by so many bytes: early in the documents, late in them, in the
 * objects.
 */
const KILLED_AT_BYTES = [100_000, 2_000_000];

async function filled(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  const documents = openEmbeddedDocuments(join(directory, 'documents.sqlite'));
  const things = documents.collection({ name: 'things', indexes: [] });
  const text = 'a sentence that takes some room. '.repeat(10);
  await things.insertMany(Array.from({ length: DOCUMENTS }, (_, n) => ({ _id: `thing${n}`, n, text })));
  await documents.close();
  const objects = new FileObjectStore(join(directory, 'objects'));
  for (let n = 0; n < OBJECTS; n += 1)
    await objects.put(`assets/a${n}/file`, Buffer.alloc(2_000, n), 'image/png');
}

function startMigration(source: string, settingsFile: string) {
  const { MONGODB_URL, REDIS_URL, ...environment } = process.env;
  const child = spawn(process.execPath, [ADMIN, 'migrate', '--to', settingsFile, '--json'], {
    env: { ...environment, DATA_DIR: source },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [printed, told] = ['', ''];
  child.stdout.on('data', (chunk) => {
    printed += chunk;
  });
  child.stderr.on('data', (chunk) => {
    told += chunk;
  });
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) =>
    child.once('close', (code, signal) => resolve({ code, signal })),
  );
  return { child, ended, printed: () => printed, told: () => told };
}

/** Runs a program of the service on stores until it ends. */
async function runOn(directory: string, words: readonly string[]) {
  const { MONGODB_URL, REDIS_URL, ...environment } = process.env;
  const child = spawn(process.execPath, [...words], {
    cwd: ROOT,
    env: { ...environment, DATA_DIR: directory, PORT: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [told, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  return { code, told };
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => ({ size: 0 }))).size;
}

/** Kills it as soon as the condition holds; a migration that ends before that fails the test. */
async function killed(
  t: Test,
  { child, ended }: ReturnType<typeof startMigration>,
  when: () => Promise<boolean>,
) {
  while (child.exitCode === null && !(await when())) await pause(POLL_MS);
  child.kill('SIGKILL');
  t.match(await ended, { signal: 'SIGKILL' });
}

t.test('a killed migration goes on where it stopped, and nothing starts before', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-migration-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const [source, target] = [join(folder, 'source'), join(folder, 'target')];
  await filled(source);
  const file = join(folder, 'target.env');
  await writeFile(file, `DATA_DIR=${target}\n`);
  const database = join(target, 'documents.sqlite');
  const written = async () => (await sizeOf(database)) + (await sizeOf(`${database}-wal`));

  for (const bytes of KILLED_AT_BYTES)
    await killed(t, startMigration(source, file), async () => (await written()) >= bytes);
  const third = startMigration(source, file);
  await killed(t, third, async () => (await sizeOf(join(target, 'objects'))) > 0);

  for (const words of [['src/host/main.ts'], ['src/host/admin.ts', 'account', 'list']])
    t.match(await runOn(target, words), { code: 1, told: /unfinished copy.*migrate --to FILE" again/ });

  const last = startMigration(source, file);
  t.match(await last.ended, { code: 0 }, last.told());
  const { from, to, ...copied } = JSON.parse(last.printed());
  t.match([from.objects, to.objects], [`files in ${source}/objects`, `files in ${target}/objects`]);
  t.same(copied, { collections: { things: DOCUMENTS }, objects: OBJECTS, bytes: OBJECTS * 2_000 });
  const documents = openEmbeddedDocuments(join(target, 'documents.sqlite'));
  t.teardown(() => documents.close());
  const things = documents.collection<{ _id: string; n: number }>({ name: 'things', indexes: [] });
  t.equal(await things.count({}), DOCUMENTS);
  t.match(await things.findOne({ _id: `thing${DOCUMENTS - 1}` }), { n: DOCUMENTS - 1 });
});
