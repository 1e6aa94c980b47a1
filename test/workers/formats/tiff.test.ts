// needs: nothing
import { strict as assert } from 'node:assert';
import sharp from 'sharp';
import t from 'tap';
import { ByteReader } from '../../../workers/formats/bytes.ts';
import { MAX_CONTAINER_PARTS } from '../../../workers/formats/parts.ts';
import {
  exifDirectories,
  exifDirectoriesOrNone,
  firstEntryValue,
  type TiffDirectory,
  tiffPageDirectories,
  withoutExifPrefix,
} from '../../../workers/formats/tiff.ts';
import { tiffOf } from '../../imaging/images/files.ts';
import { bounded } from './walks.ts';

const EXIF = 0x8769;
const GPS = 0x8825;
const LONG = 4;

interface Written {
  at: number;
  entries: { tag: number; type?: number; count?: number; value: number }[];
  next?: number;
}

/** A little-endian structure of directories at chosen places. */
function structure(length: number, directories: readonly Written[], first = 8): Buffer {
  const tiff = Buffer.alloc(length);
  tiff.write('II*\0', 'latin1');
  tiff.writeUInt32LE(first, 4);
  for (const { at, entries, next = 0 } of directories) {
    tiff.writeUInt16LE(entries.length, at);
    for (const [index, { tag, type = LONG, count = 1, value }] of entries.entries()) {
      const entry = at + 2 + index * 12;
      tiff.writeUInt16LE(tag, entry);
      tiff.writeUInt16LE(type, entry + 2);
      tiff.writeUInt32LE(count, entry + 4);
      tiff.writeUInt32LE(value, entry + 8);
    }
    tiff.writeUInt32LE(next, at + 2 + entries.length * 12);
  }
  return tiff;
}

const pagesOf = (file: Uint8Array) => bounded(file, tiffPageDirectories);
const exifOf = (file: Uint8Array) => bounded(file, exifDirectories);

/** The tags of each directory, or what ended the walk. */
const tagsOf = (told: readonly TiffDirectory[] | 'too many parts') =>
  told === 'too many parts' ? told : told.map(({ entries }) => entries.map(({ tag }) => tag));

t.test('pages are told in their chain, with entries that say where their values are', async (t) => {
  const file = tiffOf({ width: 3, height: 2 }, { width: 5, height: 4 });
  t.match(pagesOf(file), [
    {
      at: 8,
      next: 38,
      nextAt: 34,
      truncated: false,
      entries: [
        { at: 10, tag: 256, type: LONG, count: 1, claimedBytes: 4, valueAt: 18 },
        { at: 22, tag: 257, valueAt: 30 },
      ],
    },
    { at: 38, next: 0, entries: [{ tag: 256 }, { tag: 257 }] },
  ]);
});

t.test('values that do not fit into an entry stand where it points', async (t) => {
  const file = structure(60, [{ at: 8, entries: [{ tag: 258, type: 3, count: 3, value: 50 }] }]);
  file.writeUInt16LE(16, 50);
  const [page] = [...tiffPageDirectories(new ByteReader(file))];
  assert.ok(page?.entries[0]);
  t.match(page.entries[0], { claimedBytes: 6, valueAt: 50 });
  t.equal(firstEntryValue(new ByteReader(file), page, page.entries[0]), 16);
  t.equal(
    firstEntryValue(new ByteReader(file.subarray(0, 51)), page, page.entries[0]),
    undefined,
    'it is cut off',
  );
});

t.test('the pages of a file that is written are read, in both byte orders and as BigTIFF', async (t) => {
  const create = { width: 40, height: 30, channels: 3, background: '#369' } as const;
  for (const bigtiff of [false, true]) {
    const bytes = new ByteReader(await sharp({ create }).tiff({ bigtiff }).toBuffer());
    const [page, ...others] = [...tiffPageDirectories(bytes)];
    assert.ok(page);
    t.match(page, { isBig: bigtiff, truncated: false, next: 0 });
    t.same(others, []);
    const numbers = page.entries.map((entry) => [entry.tag, firstEntryValue(bytes, page, entry)] as const);
    t.match(Object.fromEntries(numbers), { 256: 40, 257: 30, 258: 8, 277: 3 });
  }
  const big = Buffer.from('MM\0*\0\0\0\x08\0\x01\x01\0\0\x03\0\0\0\x01\0\x09\0\0\0\0\0\0', 'latin1');
  const [page] = [...tiffPageDirectories(new ByteReader(big))];
  assert.ok(page?.entries[0]);
  t.equal(firstEntryValue(new ByteReader(big), page, page.entries[0]), 9);
});

t.test('a file cut anywhere tells the pages that it has', async (t) => {
  const file = tiffOf({ width: 3, height: 2 }, { width: 5, height: 4 });
  const whole = pagesOf(file);
  for (let length = 0; length < file.length; length += 1) {
    const told = pagesOf(file.subarray(0, length));
    assert.ok(told !== 'too many parts' && whole !== 'too many parts');
    for (const [index, page] of told.entries())
      if (!page.truncated) assert.deepEqual(page.entries, whole[index]?.entries, `cut at ${length}`);
    const complete = [36, 66].filter((end) => end <= length).length;
    t.ok(told.filter(({ truncated }) => !truncated).length >= complete, `cut at ${length}`);
  }
});

t.test('a chain that leads in a circle, out of the file, into its head or to nothing ends', async (t) => {
  const page = { at: 8, entries: [{ tag: 256, value: 1 }] };
  for (const next of [8, 0, 4, 1_000, 0xffffffff, 60])
    t.same(tagsOf(pagesOf(structure(64, [{ ...page, next }]))), [[256]], `next at ${next}`);
});

t.test('a directory that claims more entries than there are is truncated', async (t) => {
  const file = structure(40, [{ at: 8, entries: [{ tag: 256, value: 1 }] }]);
  file.writeUInt16LE(0xffff, 8);
  const [page] = [...tiffPageDirectories(new ByteReader(file))];
  t.match(page, { truncated: true, next: 0, nextAt: undefined });
  t.equal(page?.entries.length, 2, 'what there is room for');
});

t.test('pages without end, or over one another, end the walk', async (t) => {
  const pages = (count: number) => tiffOf(...Array(count).fill({ width: 1, height: 1 }));
  t.equal([...tiffPageDirectories(new ByteReader(pages(MAX_CONTAINER_PARTS)))].length, MAX_CONTAINER_PARTS);
  t.equal(pagesOf(pages(MAX_CONTAINER_PARTS + 1)), 'too many parts');
  // Each page begins four bytes after the one before it, and claims a hundred entries.
  const overlapping = Buffer.alloc(4_000);
  overlapping.write('II*\0\x08\0\0\0', 'latin1');
  for (let at = 8; at < 408; at += 4) {
    overlapping.writeUInt16LE(100, at);
    overlapping.writeUInt32LE(at + 4, at + 2 + 100 * 12);
  }
  t.equal(pagesOf(overlapping), 'too many parts');
});

t.test('the directories of an EXIF are those that its entries lead to, each with that entry', async (t) => {
  const file = structure(200, [
    {
      at: 8,
      entries: [
        { tag: EXIF, value: 60 },
        { tag: GPS, value: 100 },
      ],
      next: 150,
    },
    { at: 60, entries: [{ tag: 0xa005, value: 130 }] },
    { at: 100, entries: [{ tag: 1, value: 1 }] },
    { at: 130, entries: [{ tag: 2, value: 1 }] },
    { at: 150, entries: [{ tag: 0x0201, value: 1 }] },
  ]);
  t.same(tagsOf(exifOf(file)), [[EXIF, GPS], [0xa005], [1], [2]], 'and not the thumbnail behind the first');
  const [first, second] = exifDirectoriesOrNone(new ByteReader(file));
  t.equal(first?.parentEntry, undefined);
  t.equal(second?.parentEntry, first?.entries[0]);
});

t.test('circles are gone round once', async (t) => {
  const file = structure(100, [
    {
      at: 8,
      entries: [
        { tag: EXIF, value: 60 },
        { tag: GPS, value: 8 },
      ],
    },
    {
      at: 60,
      entries: [
        { tag: EXIF, value: 8 },
        { tag: GPS, value: 60 },
      ],
    },
  ]);
  t.same(tagsOf(exifOf(file)), [
    [EXIF, GPS],
    [EXIF, GPS],
  ]);
});

t.test('directories over one another, or too many, are vouched for by nobody', async (t) => {
  const over = structure(100, [
    {
      at: 8,
      entries: [
        { tag: EXIF, value: 10 },
        { tag: 1, value: 1 },
      ],
    },
  ]);
  t.equal(exifOf(over), 'too many parts');
  t.same(exifDirectoriesOrNone(new ByteReader(over)), []);
  const many = structure(
    1_000,
    Array.from({ length: 17 }, (_, index) => ({
      at: 8 + 20 * index,
      entries: [{ tag: EXIF, value: 8 + 20 * (index + 1) }],
    })),
  );
  t.equal(exifOf(many), 'too many parts');
  t.equal(exifOf(many.subarray(0, 8 + 20 * 15)).length, 15, 'the pointer to what is cut off counts');
});

t.test('what is no TIFF has no directories', async (t) => {
  for (const text of [
    '',
    'II*\0',
    'II+\0\x08\0\0\0',
    'II*\0\0\0\0\0',
    'MM*\0\x08\0\0\0\0\0',
    'XX*\0\x08\0\0\0\0\0',
  ]) {
    t.same(pagesOf(Buffer.from(text, 'latin1')), [], JSON.stringify(text));
    t.same(exifOf(Buffer.from(text, 'latin1')), [], JSON.stringify(text));
  }
});

t.test('the prefix of an EXIF block is taken off', async (t) => {
  t.same(withoutExifPrefix(Buffer.from('Exif\0\0II*\0')), Buffer.from('II*\0'));
  t.same(withoutExifPrefix(Buffer.from('II*\0')), Buffer.from('II*\0'));
});
