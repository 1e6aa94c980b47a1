// needs: nothing
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, open, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import t, { type Test } from 'tap';
import { openZipArchive, type ZipArchiveEntry } from '../../../src/platform/archive.ts';

const run = promisify(execFile);
const MODIFIED_AT = new Date('2026-03-04T05:06:07.000Z');
const GIGABYTE = 2 ** 30;
const MAX_READ_BYTES = 64 * 1024;

/** Entries of these texts, and how many bytes of them were read. */
function entriesOf(texts: ReadonlyMap<string, string>) {
  const read = { bytes: 0 };
  const entries = Array.from(texts, ([name, text]): ZipArchiveEntry => {
    const bytes = Buffer.from(text);
    return {
      name,
      sizeBytes: bytes.length,
      digest: createHash('sha256').update(bytes).digest('hex'),
      checksum: crc32(bytes),
      async open({ start, end }) {
        read.bytes += end - start + 1;
        return Readable.from([bytes.subarray(start, end + 1)]);
      },
    };
  });
  return { entries, read };
}

async function folderOf(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-archive-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** What Python's zipfile says of an archive, by an expression over `z`. */
async function python(file: string, expression: string): Promise<string> {
  const script = `import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); print(${expression})`;
  return (await run('python3', ['-c', script, file], { maxBuffer: 2 ** 26 })).stdout.trim();
}

const TEXTS = new Map([
  ['0-Straße.txt', 'one'],
  ['1-empty.txt', ''],
  ['2-海.txt', 'three'.repeat(1_000)],
  ['3.txt', 'four'],
]);

t.test('an archive is accepted by other programs, with its names, times and modes', async (t) => {
  const { entries } = entriesOf(TEXTS);
  const file = join(await folderOf(t), 'a.zip');
  const archive = await openZipArchive(entries, MODIFIED_AT);
  await writeFile(file, await buffer(archive.stream(null)));
  await run('unzip', ['-tqq', file]);
  t.equal(await python(file, 'z.testzip()'), 'None');
  t.equal(await python(file, "'|'.join(z.namelist())"), [...TEXTS.keys()].join('|'));
  t.equal(await python(file, "z.read('2-海.txt').decode()"), TEXTS.get('2-海.txt'));
  t.equal(await python(file, 'z.infolist()[0].date_time'), '(2026, 3, 4, 5, 6, 6)');
  t.equal(await python(file, 'oct(z.infolist()[0].external_attr >> 16)'), '0o100644');
});

t.test('ranges put together are the whole, wherever it is cut', async (t) => {
  const archive = await openZipArchive(entriesOf(TEXTS).entries, MODIFIED_AT);
  const whole = await buffer(archive.stream(null));
  t.equal(whole.length, archive.sizeBytes);
  for (const step of [1, 7, 64, 1_000, 4_999]) {
    const parts: Buffer[] = [];
    for (let start = 0; start < whole.length; start += step) {
      const end = Math.min(start + step, whole.length) - 1;
      parts.push(await buffer(archive.stream({ start, end })));
    }
    t.ok(Buffer.concat(parts).equals(whole), `cut every ${step} bytes`);
  }
});

t.test('a range reads only what it covers: a byte of either end of 1 GB reads nothing', async (t) => {
  const read = { bytes: 0 };
  const entries = Array.from(
    { length: 80 },
    (_, index): ZipArchiveEntry => ({
      name: `${index}.tif`,
      sizeBytes: GIGABYTE / 80,
      digest: `${index}`,
      checksum: index,
      async open({ start, end }) {
        read.bytes += end - start + 1;
        return Readable.from([Buffer.alloc(end - start + 1)]);
      },
    }),
  );
  const archive = await openZipArchive(entries, MODIFIED_AT);
  const { sizeBytes } = archive;
  for (const [start, end] of [
    [0, 0],
    [sizeBytes - 1, sizeBytes - 1],
    [sizeBytes - 22, sizeBytes - 1],
    [sizeBytes - 2_000, sizeBytes - 1],
  ] as const) {
    t.equal((await buffer(archive.stream({ start, end }))).length, end - start + 1);
    t.equal(read.bytes, 0, `${start} to ${end}`);
  }
  const middle = Math.floor(sizeBytes / 2);
  await buffer(archive.stream({ start: middle, end: middle + 999 }));
  t.ok(
    read.bytes > 0 && read.bytes <= MAX_READ_BYTES,
    `${read.bytes} bytes are read for 1,000 in the middle`,
  );
});

t.test('more than 65,535 files are in one archive', async (t) => {
  const texts = new Map(
    Array.from({ length: 66_000 }, (_, index) => [`${index}`, index === 65_999 ? 'last' : '']),
  );
  const file = join(await folderOf(t), 'many.zip');
  const archive = await openZipArchive(entriesOf(texts).entries, MODIFIED_AT);
  await writeFile(file, await buffer(archive.stream(null)));
  await run('unzip', ['-tqq', file]);
  t.equal(await python(file, "(len(z.namelist()), z.read('65999').decode())"), "(66000, 'last')");
});

t.test('an archive, and a file in it, may have more than 4 GB', async (t) => {
  const { entries } = entriesOf(new Map([['small.txt', 'behind']]));
  const large: ZipArchiveEntry = {
    name: 'large.tif',
    sizeBytes: 5 * GIGABYTE,
    digest: 'large',
    checksum: 1,
    open: () => Promise.reject(new Error('The large file is not read.')),
  };
  const archive = await openZipArchive([large, ...entries], MODIFIED_AT);
  // A file with a hole in the place of the large one.
  const file = join(await folderOf(t), 'large.zip');
  await writeFile(file, '');
  await truncate(file, archive.sizeBytes);
  const handle = await open(file, 'r+');
  const head = { start: 0, end: 29 };
  const tail = { start: 5 * GIGABYTE + 100, end: archive.sizeBytes - 1 };
  for (const range of [head, tail]) {
    const bytes = await buffer(archive.stream(range));
    await handle.write(bytes, 0, bytes.length, range.start);
  }
  await handle.close();
  const listed = (await run('unzip', ['-l', file])).stdout;
  t.match(listed, /5368709120 .*large\.tif/);
  const offset = await python(file, "z.getinfo('small.txt').header_offset");
  t.ok(Number(offset) > 5 * GIGABYTE, offset);
});

t.test('a reader that goes away ends the reading at once', async (t) => {
  const body = new Readable({ read() {} });
  const entry: ZipArchiveEntry = {
    name: 'endless.tif',
    sizeBytes: GIGABYTE,
    digest: 'endless',
    checksum: 1,
    open: async () => body,
  };
  const stream = (await openZipArchive([entry], MODIFIED_AT)).stream(null);
  await new Promise((resolve) => stream.once('data', resolve));
  await turn();
  t.notOk(body.destroyed);
  stream.destroy();
  await new Promise((resolve) => stream.once('close', resolve));
  t.ok(body.destroyed);
});

t.test('a stored file that is shorter than it should be breaks the download off', async (t) => {
  const { entries } = entriesOf(new Map([['a.txt', 'whole']]));
  const [entry] = entries;
  if (entry === undefined) throw new Error('There is an entry.');
  const short: ZipArchiveEntry = { ...entry, open: async () => Readable.from([Buffer.from('who')]) };
  const archive = await openZipArchive([short], MODIFIED_AT);
  await t.rejects(buffer(archive.stream(null)), /has not the size/);
});

t.test('the tag tells archives apart, and is the same for the same files', async (t) => {
  const { entries } = entriesOf(TEXTS);
  const { etag } = await openZipArchive(entries, MODIFIED_AT);
  t.equal((await openZipArchive(entriesOf(TEXTS).entries, MODIFIED_AT)).etag, etag);
  t.not((await openZipArchive(entries.slice(1), MODIFIED_AT)).etag, etag);
  t.not((await openZipArchive(entries, new Date(0))).etag, etag);
});
