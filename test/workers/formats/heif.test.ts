// needs: nothing
import t from 'tap';
import type { ByteRangeInFile } from '../../../workers/formats/boxes.ts';
import { ByteReader } from '../../../workers/formats/bytes.ts';
import {
  findHeifMetaBox,
  heifAssociations,
  heifItems,
  heifReferences,
  primaryItemId,
} from '../../../workers/formats/heif.ts';
import { TooManyPartsError } from '../../../workers/formats/parts.ts';
import { avifOf } from '../../imaging/images/files.ts';
import { bounded } from './walks.ts';

const latin1 = (text: string) => Buffer.from(text, 'latin1');

function box(type: string, ...content: (string | Buffer)[]): Buffer {
  const body = Buffer.concat(content.map((part) => (typeof part === 'string' ? latin1(part) : part)));
  const size = Buffer.alloc(4);
  size.writeUInt32BE(8 + body.length);
  return Buffer.concat([size, latin1(type), body]);
}

function fileOf(...boxes: Buffer[]): Buffer {
  return Buffer.concat([box('ftyp', 'avif\0\0\0\0'), box('meta', '\0\0\0\0', ...boxes)]);
}

/** What a walk tells of a file's meta box; the walk is held to stay within the file. */
function toldOf<P>(file: Uint8Array, walk: (bytes: ByteReader, meta: ByteRangeInFile) => Iterable<P>) {
  return bounded(file, (bytes) => {
    const meta = findHeifMetaBox(bytes);
    return meta === undefined ? [] : walk(bytes, meta);
  });
}

function primaryOf(file: Uint8Array): number | undefined {
  const bytes = new ByteReader(file);
  const meta = findHeifMetaBox(bytes);
  return meta && primaryItemId(bytes, meta);
}

/** An item of 16 bits, one of 32 bits that is hidden, and one whose entry is cut off. */
const items = box(
  'iinf',
  '\0\0\0\0\0\x03',
  box('infe', '\x02\0\0\0\0\x01\0\0av01\0'),
  box('infe', '\x03\0\0\x01\0\x01\0\x02\0\0Exif'),
  box('infe', '\x02\0\0\0\0\x03\0\0av'),
);

t.test('items are told with their id and type, and whether they are hidden', async (t) => {
  t.same(toldOf(fileOf(items), heifItems), [
    { id: 1, type: 'av01', isHidden: false },
    { id: 0x1_0002, type: 'Exif', isHidden: true },
  ]);
  t.same(
    toldOf(fileOf(box('iinf', '\x01\0\0\0\0\0\0\0', box('infe', '\x02\0\0\0\0\x07\0\0grid'))), heifItems),
    [{ id: 7, type: 'grid', isHidden: false }],
  );
});

t.test('references say what an item is to others, as far as its box has room for them', async (t) => {
  const short = box(
    'iref',
    '\0\0\0\0',
    box('thmb', '\0\x02\0\x01\0\x01'),
    box('dimg', '\0\x01\0\x09\0\x03\0\x04\0'),
  );
  t.same(toldOf(fileOf(short), heifReferences), [
    { type: 'thmb', from: 2, to: [1] },
    { type: 'dimg', from: 1, to: [3, 4] },
  ]);
  const wide = box('iref', '\x01\0\0\0', box('auxl', '\0\x01\0\x02\0\x01\0\0\0\x05'));
  t.same(toldOf(fileOf(wide), heifReferences), [{ type: 'auxl', from: 0x1_0002, to: [5] }]);
});

t.test(
  'associations name the properties of an item, without the mark of those that are essential',
  async (t) => {
    const narrow = box('ipma', '\0\0\0\0\0\0\0\x02', '\0\x01\x02\x81\x02', '\0\x02\x01\x03');
    t.match(toldOf(fileOf(box('iprp', narrow)), heifAssociations), [
      { id: 1, properties: [1, 2], truncated: false },
      { id: 2, properties: [3], truncated: false },
    ]);
    const wide = box('ipma', '\x01\0\0\x01\0\0\0\x01', '\0\0\0\x01\x03\x80\x81\0\x02\0');
    t.match(toldOf(fileOf(box('iprp', wide)), heifAssociations), [
      { properties: [0x81, 2], truncated: true },
    ]);
  },
);

t.test('the primary item is named by an id of 16 or 32 bits', async (t) => {
  t.equal(primaryOf(avifOf(3, 2)), 1);
  t.equal(primaryOf(fileOf(box('pitm', '\x01\0\0\0\0\x01\0\x02'))), 0x1_0002);
  t.equal(primaryOf(fileOf(box('pitm', '\x01\0\0\0\0\x01'))), undefined);
  t.equal(primaryOf(fileOf()), undefined);
});

t.test('a file cut anywhere tells no more than the whole one', async (t) => {
  const references = box('iref', '\0\0\0\0', box('dimg', '\0\x01\0\x02\0\x03\0\x04'));
  const whole = fileOf(items, references, box('iprp', box('ipma', '\0\0\0\0\0\0\0\x01\0\x01\x02\x81\x02')));
  for (const walk of [heifItems, heifReferences, heifAssociations]) {
    const most = toldOf<unknown>(whole, walk).length;
    for (let length = 0; length < whole.length; length += 1)
      t.ok(toldOf<unknown>(whole.subarray(0, length), walk).length <= most);
  }
});

t.test('more associations than any file has end the walk', async (t) => {
  const file = fileOf(box('iprp', box('ipma', '\0\0\0\0\0\0\0\0', '\0\x01\0'.repeat(70_000))));
  const bytes = new ByteReader(file);
  t.throws(
    () => [...heifAssociations(bytes, findHeifMetaBox(bytes) ?? { start: 0, end: 0 })],
    TooManyPartsError,
  );
});
