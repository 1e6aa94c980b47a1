// needs: nothing
import sharp from 'sharp';
import t from 'tap';
import { findIsoBox } from '../../../workers/formats/boxes.ts';
import { ByteReader } from '../../../workers/formats/bytes.ts';
import { buildJpegSegment, JPEG_MARKERS, withJpegSegments } from '../../../workers/formats/jpeg.ts';
import { withRawProfilesAsChunks } from '../../../workers/image/metadata/png.ts';
import { readImageTags } from '../../../workers/image/metadata/tags.ts';
import { withExifTags } from '../../../workers/image/metadata/tiff-tags.ts';

const picture = sharp({ create: { width: 4, height: 4, channels: 3, background: '#369' } });
const ENTRIES = 512;

/** A TIFF structure of one directory whose every entry leads to itself, or claims the same bytes. */
function circular(entry: (at: DataView, place: number) => void, bytes: number): Uint8Array {
  const tiff = new Uint8Array(bytes);
  const view = new DataView(tiff.buffer);
  tiff.set([0x49, 0x49]);
  view.setUint16(2, 42, true);
  view.setUint32(4, 8, true);
  view.setUint16(8, ENTRIES, true);
  for (let index = 0; index < ENTRIES; index += 1) entry(view, 10 + index * 12);
  return tiff;
}

t.test('directories that lead to themselves, and tags that claim the same bytes, cost little', async (t) => {
  const tiff = new Uint8Array(
    await picture
      .clone()
      .tiff({ compression: 'lzw' })
      .toUint8Array()
      .then((made) => made.data),
  );
  const loop = circular((view, place) => {
    view.setUint16(place, 0x8769, true);
    view.setUint16(place + 2, 4, true);
    view.setUint32(place + 4, 1, true);
    view.setUint32(place + 8, 8, true);
  }, 8_192);
  const claims = circular((view, place) => {
    view.setUint16(place, 0x010e, true);
    view.setUint16(place + 2, 2, true);
    view.setUint32(place + 4, 60_000, true);
    view.setUint32(place + 8, 8, true);
  }, 100_000);
  for (const hostile of [loop, claims]) {
    const made = withExifTags(tiff, hostile, 'all');
    t.ok(made.byteLength < 1_000_000, `${made.byteLength} bytes`);
    t.equal((await sharp(made).metadata()).width, 4, 'the picture is there');
  }
});

t.test('of raw profiles without end one per kind is carried', async (t) => {
  const png = await picture.clone().png().toBuffer();
  const text = Buffer.from('Raw profile type exif\0\nexif\n14\n49492a0008000000000000000000\n', 'latin1');
  const chunk = Buffer.concat([Buffer.alloc(4), Buffer.from('tEXt'), text, Buffer.alloc(4)]);
  chunk.writeUInt32BE(text.length);
  const many = Buffer.concat([png.subarray(0, 33), ...Array(60_000).fill(chunk), png.subarray(33)]);
  const made = Buffer.from(withRawProfilesAsChunks(new Uint8Array(many)));
  t.equal(made.indexOf('eXIf'), made.lastIndexOf('eXIf'));
  t.not(made.indexOf('eXIf'), -1);
  t.equal(made.length, many.length - chunk.length + 12 + 14);
});

/** An AVIF with a change in its list of the places of its items. */
function withPlaces(avif: Buffer, change: (list: Buffer) => void): Buffer {
  const changed = Buffer.from(avif);
  const bytes = new ByteReader(changed);
  const meta = findIsoBox(bytes, { start: 0, end: avif.length }, 'meta');
  const list = meta && findIsoBox(bytes, { start: meta.start + 4, end: meta.end }, 'iloc');
  if (list === undefined) throw new Error('no list of places');
  change(changed.subarray(list.start, list.end));
  return changed;
}

/** A segment with EXIF of the name of an artist, of three letters. */
function exifSegment(artist: string): Buffer {
  const tiff = Buffer.from(`II*\0\x08\0\0\0\x01\0;\x01\x02\0\x04\0\0\0${artist}\0\0\0\0\0`, 'latin1');
  return buildJpegSegment(JPEG_MARKERS.app1, Buffer.from('Exif\0\0'), tiff);
}

t.test('the reader of tags prints nothing about what it does not support', async (t) => {
  const jpeg = new Uint8Array(await picture.clone().jpeg().toBuffer());
  const twice = withJpegSegments(jpeg, [exifSegment('One'), exifSegment('Two')]);
  const avif = await picture
    .clone()
    .withExif({ IFD0: { Artist: 'One' } })
    .avif()
    .toBuffer();
  const wide = withPlaces(avif, (list) => list.writeUInt8(0x88, 4));
  const rows: Record<string, [file: Uint8Array, readable: Uint8Array, type: string]> = {
    'two EXIF segments': [twice, twice, 'jpeg'],
    'offsets of 64 bits': [wide, avif, 'avif'],
  };
  for (const [name, [file, readable, type]] of Object.entries(rows)) {
    const printed = t.capture(console, 'warn');
    const tags = readImageTags(new Uint8Array(file), await sharp(readable).metadata());
    printed.restore();
    t.same(printed(), [], name);
    t.match(tags, { file: { FileType: type }, exif: { Artist: 'One' } }, name);
  }
});
