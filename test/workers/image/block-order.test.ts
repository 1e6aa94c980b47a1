// needs: pixels
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { inputHeaderHintOf } from '../../../src/imaging/images/header/facts.ts';
import { readImageHeader } from '../../../src/imaging/images/header/header.ts';
import { findIsoBox, isoBoxes } from '../../../workers/formats/boxes.ts';
import { ByteReader } from '../../../workers/formats/bytes.ts';
import {
  buildJpegSegment,
  JPEG_MARKER_BYTES,
  JPEG_MARKERS,
  jpegSegments,
} from '../../../workers/formats/jpeg.ts';
import { buildPngChunk, pngChunks } from '../../../workers/formats/png.ts';
import { webpChunks } from '../../../workers/formats/riff.ts';
import { describeImage } from '../../../workers/image/metadata/metadata.ts';
import { made, passOf, raster } from './passes.ts';

/** EXIF and XMP in every place and order that a format allows for them. */

const [WIDTH, HEIGHT] = [24, 16];
const FORMATS = ['jpeg', 'png', 'webp', 'avif', 'tiff'] as const;
/** Red at the top left, blue elsewhere. */
const data = new Uint8Array(WIDTH * HEIGHT * 3);
for (let at = 0; at < WIDTH * HEIGHT; at += 1) {
  const isMarked = at % WIDTH < WIDTH / 2 && at < (WIDTH * HEIGHT) / 2;
  data.set(isMarked ? [255, 0, 0] : [0, 0, 255], at * 3);
}
const picture = sharp(data, { raw: { width: WIDTH, height: HEIGHT, channels: 3 } });

function packetOf(rest: string, more = ''): Buffer {
  return Buffer.from(
    `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:tiff="http://ns.adobe.com/tiff/1.0/" xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmlns:xmpNote="http://ns.adobe.com/xmp/note/" ${more}>${rest}</rdf:Description></rdf:RDF></x:xmpmeta>`,
  );
}

const XMP = packetOf(
  '<dc:creator><rdf:Seq><rdf:li>Jane</rdf:li></rdf:Seq></dc:creator>',
  'xmp:Rating="5" tiff:Orientation="8"',
);

/** EXIF with an orientation and a name of an artist. */
function exifOf(orientation: number, artist: string): Buffer {
  const name = Buffer.from(`${artist}\0`);
  const entry = (tag: number, type: number, count: number, value: number) => {
    const bytes = Buffer.alloc(12);
    bytes.writeUInt16LE(tag, 0);
    bytes.writeUInt16LE(type, 2);
    bytes.writeUInt32LE(count, 4);
    bytes.writeUInt32LE(value, 8);
    return bytes;
  };
  const namesAt = 8 + 2 + 2 * 12 + 4;
  return Buffer.concat([
    Buffer.from('II*\0\x08\0\0\0\x02\0', 'latin1'),
    entry(0x0112, 3, 1, orientation),
    entry(0x013b, 2, name.length, namesAt),
    Buffer.alloc(4),
    name,
  ]);
}

const SIX = exifOf(6, 'Exif Six');
const THREE = exifOf(3, 'Exif Three');

interface Expected {
  orientation: number;
  artist?: string;
}

/**
 * Whatever the order of its blocks, a file is turned by its EXIF, the header says so before anything is decoded, and
 * its XMP is told and carried.
 */
async function check(t: Test, name: string, file: Buffer, { orientation, artist }: Expected): Promise<void> {
  const isSideways = orientation > 4;
  const size = isSideways ? [HEIGHT, WIDTH] : [WIDTH, HEIGHT];
  const header = readImageHeader(file);
  t.equal(header?.orientation, orientation, `${name}: the header`);
  const told = await describeImage(new Uint8Array(file));
  if (told.kind === 'failure') throw new Error(`${name}: ${told.message}`);
  t.match(told.image, { width: size[0], height: size[1], orientation }, `${name}: facts`);
  t.match(told.metadata.xmp, { creator: ['Jane'], Rating: '5' }, `${name}: tags`);
  if (artist !== undefined) t.equal(told.metadata.exif?.Artist, artist, `${name}: EXIF`);
  const hint = header === null ? {} : inputHeaderHintOf(header);
  const plain = await made(file, passOf([], { format: 'png' }), hint);
  t.same([plain.width, plain.height], size, `${name}: turned`);
  // The red quarter lies at the top left as stored.
  const corner = { 1: [2, 2], 3: [WIDTH - 3, HEIGHT - 3], 6: [HEIGHT - 3, 2] }[orientation] ?? [0, 0];
  const [red = 0, , blue = 255] = (await raster(plain.data)).at(corner[0] ?? 0, corner[1] ?? 0);
  t.ok(red > 200 && blue < 90, `${name}: its corner is red`);
  for (const format of FORMATS) {
    const kept = await made(file, passOf([], { format, metadata: 'keep' }), hint);
    t.same([kept.width, kept.height], size, `${name} as ${format}`);
    const { orientation: left = 1, xmp = '' } = await sharp(kept.data).metadata();
    t.equal(left, 1, `${name} as ${format}: it is not turned again`);
    t.match(String(xmp), /Jane/, `${name} as ${format}: kept`);
    t.notMatch(String(xmp), /Orientation|HasExtended/, `${name} as ${format}: what is stale goes`);
    const rights = await made(file, passOf([], { format, metadata: 'copyright' }), hint);
    const told = await describeImage(rights.data);
    t.match(
      told,
      { metadata: { xmp: { creator: ['Jane'], Rating: undefined } } },
      `${name} as ${format}: rights`,
    );
    const stripped = await made(file, passOf([], { format }), hint);
    t.notMatch(Buffer.from(stripped.data).toString('latin1'), /Jane|Exif (Six|Three)/, `${name}: stripped`);
  }
}

const XMP_NAME = Buffer.from('http://ns.adobe.com/xap/1.0/\0');
const REST_NAME = Buffer.from('http://ns.adobe.com/xmp/extension/\0');
const xmpSegment = buildJpegSegment(JPEG_MARKERS.app1, XMP_NAME, XMP);
const exifSegment = (exif: Buffer) => buildJpegSegment(JPEG_MARKERS.app1, Buffer.from('Exif\0\0'), exif);

const jpeg = await picture.clone().jpeg({ quality: 95, chromaSubsampling: '4:4:4' }).toBuffer();
const jfif = [...jpegSegments(new ByteReader(jpeg))].find(({ marker }) => marker === JPEG_MARKERS.app0);
const withSegments = (...segments: Buffer[]) =>
  Buffer.concat([
    jpeg.subarray(0, JPEG_MARKER_BYTES),
    ...segments,
    jpeg.subarray(jfif?.next ?? JPEG_MARKER_BYTES),
  ]);
const ownJfif = jfif === undefined ? Buffer.alloc(0) : jpeg.subarray(jfif.at, jfif.next);

t.test('XMP of a JPEG counts before and after JFIF and EXIF', async (t) => {
  const rows: Record<string, [file: Buffer, expected: Expected]> = {
    'XMP, JFIF': [withSegments(xmpSegment, ownJfif), { orientation: 1 }],
    'XMP, JFIF, EXIF': [
      withSegments(xmpSegment, ownJfif, exifSegment(SIX)),
      { orientation: 6, artist: 'Exif Six' },
    ],
    'XMP, EXIF': [withSegments(xmpSegment, exifSegment(SIX)), { orientation: 6, artist: 'Exif Six' }],
    'EXIF, XMP': [withSegments(exifSegment(THREE), xmpSegment), { orientation: 3, artist: 'Exif Three' }],
    'two EXIF, of which the first counts': [
      withSegments(exifSegment(SIX), xmpSegment, exifSegment(THREE)),
      { orientation: 6, artist: 'Exif Six' },
    ],
  };
  for (const [name, [file, expected]] of Object.entries(rows)) await check(t, name, file, expected);
});

const DIGEST = '0123456789ABCDEF0123456789ABCDEF';
const SECOND = packetOf(
  '<dc:rights><rdf:Alt><rdf:li xml:lang="x-default">All of it</rdf:li></rdf:Alt></dc:rights>',
  'tiff:Make="Second" xmp:Rating="1"',
);

/** The second packet in segments of so many bytes. */
function secondSegments(size: number, digest = DIGEST): Buffer[] {
  return Array.from({ length: Math.ceil(SECOND.length / size) }, (_, part) => {
    const numbers = Buffer.alloc(8);
    numbers.writeUInt32BE(SECOND.length, 0);
    numbers.writeUInt32BE(part * size, 4);
    const content = SECOND.subarray(part * size, (part + 1) * size);
    return buildJpegSegment(JPEG_MARKERS.app1, REST_NAME, Buffer.from(digest), numbers, content);
  });
}

t.test('a packet of XMP in several segments counts in any order of them', async (t) => {
  const main = buildJpegSegment(
    JPEG_MARKERS.app1,
    XMP_NAME,
    packetOf(
      '<dc:creator><rdf:Seq><rdf:li>Jane</rdf:li></rdf:Seq></dc:creator>',
      `xmp:Rating="5" xmpNote:HasExtendedXMP="${DIGEST}"`,
    ),
  );
  const parts = secondSegments(100);
  t.ok(parts.length > 3);
  const rows: Record<string, Buffer[]> = {
    'after the main packet': [main, ...parts],
    'before the main packet': [...parts, main, ownJfif],
    'backwards, around it': [
      ...parts.slice(2).reverse(),
      exifSegment(exifOf(1, 'x')),
      main,
      ...parts.slice(0, 2),
    ],
  };
  for (const [name, segments] of Object.entries(rows)) {
    const file = withSegments(...segments);
    await check(t, name, file, { orientation: 1 });
    const told = await describeImage(new Uint8Array(file));
    t.match(told, { metadata: { xmp: { Make: 'Second', Rating: '5', rights: ['All of it'] } } }, name);
    const { data } = await made(file, passOf([], { format: 'webp', metadata: 'copyright' }));
    t.match(
      await describeImage(data),
      { metadata: { xmp: { rights: ['All of it'] } } },
      `${name}: its rights`,
    );
    const kept = await made(file, passOf([], { format: 'avif', metadata: 'keep' }));
    t.match(
      (await describeImage(kept.data)) as object,
      { metadata: { xmp: { Make: 'Second', Rating: '5' } } },
      name,
    );
  }
  const others: Record<string, Buffer[]> = {
    'one is missing': [main, ...parts.slice(1)],
    'one came twice': [main, ...parts, ...parts.slice(0, 1)],
    'they are of another file': [main, ...secondSegments(100, DIGEST.toLowerCase().replaceAll('a', 'b'))],
    'there is no main packet': parts,
  };
  for (const [name, segments] of Object.entries(others)) {
    const told = await describeImage(new Uint8Array(withSegments(...segments)));
    if (told.kind === 'failure') return t.fail(told.message);
    t.equal(told.metadata.xmp?.Make, undefined, name);
    const kept = await made(withSegments(...segments), passOf([], { metadata: 'keep' }));
    t.notMatch(Buffer.from(kept.data).toString('latin1'), /Second|All of it/, name);
  }
});

t.test('EXIF and XMP of a PNG count before its pixels and after them', async (t) => {
  const png = await picture.clone().png().toBuffer();
  const chunks = [...pngChunks(new ByteReader(png))];
  const [pixels, end] = ['IDAT', 'IEND'].map((type) => chunks.find((chunk) => chunk.type === type)?.at ?? 0);
  const at = (front: Buffer[], back: Buffer[]) =>
    Buffer.concat([png.subarray(0, pixels), ...front, png.subarray(pixels, end), ...back, png.subarray(end)]);
  const xmp = buildPngChunk('iTXt', Buffer.concat([Buffer.from('XML:com.adobe.xmp\0\0\0\0\0'), XMP]));
  const exif = buildPngChunk('eXIf', SIX);
  const second = buildPngChunk('eXIf', THREE);
  const six = { orientation: 6, artist: 'Exif Six' };
  const rows: Record<string, [file: Buffer, expected: Expected]> = {
    'both before': [at([xmp, exif], []), six],
    'XMP after': [at([exif], [xmp]), six],
    'EXIF after': [at([xmp], [exif]), six],
    'both after': [at([], [exif, xmp]), six],
    'two EXIF, of which the first counts': [at([xmp, exif], [second]), six],
    'two EXIF after': [at([], [exif, second, xmp]), six],
  };
  for (const [name, [file, expected]] of Object.entries(rows)) await check(t, name, file, expected);
});

function withoutExifFlag(webp: Buffer): Buffer {
  const copy = Buffer.from(webp);
  const flagsAt = 20;
  copy.writeUInt8(copy.readUInt8(flagsAt) & ~0x08, flagsAt);
  return copy;
}

t.test('the blocks of a WebP count in any order of its chunks', async (t) => {
  const webp = await picture
    .clone()
    .webp({ lossless: true })
    .withExif({ IFD0: { Artist: 'x' } })
    .withXmp('<x/>')
    .toBuffer();
  const own = [...webpChunks(new ByteReader(webp))].filter(({ type }) => type.startsWith('VP8'));
  const chunk = (type: string, content: Buffer) => {
    const head = Buffer.from(`${type}\0\0\0\0`, 'latin1');
    head.writeUInt32LE(content.length, 4);
    return Buffer.concat([head, content, Buffer.alloc(content.length % 2)]);
  };
  const [extended, pixels] = own.map(({ at, next }) => webp.subarray(at, next)) as [Buffer, Buffer];
  const of = (...chunks: Buffer[]) => {
    const body = Buffer.concat([Buffer.from('WEBP'), extended, ...chunks]);
    const head = Buffer.from('RIFF\0\0\0\0', 'latin1');
    head.writeUInt32LE(body.length, 4);
    return Buffer.concat([head, body]);
  };
  const [exif, second, xmp] = [chunk('EXIF', SIX), chunk('EXIF', THREE), chunk('XMP ', XMP)];
  const six = { orientation: 6, artist: 'Exif Six' };
  const rows: Record<string, [file: Buffer, expected: Expected]> = {
    'XMP, EXIF, pixels': [of(xmp, exif, pixels), six],
    'pixels, XMP, EXIF': [of(pixels, xmp, exif), six],
    'XMP, pixels, EXIF': [of(xmp, pixels, exif), six],
    'two EXIF, of which the first counts': [of(exif, pixels, xmp, second), six],
    'EXIF without its flag': [withoutExifFlag(of(pixels, xmp, exif)), { orientation: 1 }],
  };
  for (const [name, [file, expected]] of Object.entries(rows)) await check(t, name, file, expected);
});

t.test('the XMP of an AVIF counts before the picture in the list of items', async (t) => {
  const avif = await picture
    .clone()
    .avif({ quality: 95, chromaSubsampling: '4:4:4' })
    .withXmp(String(XMP))
    .toBuffer();
  const bytes = new ByteReader(avif);
  const meta = findIsoBox(bytes, { start: 0, end: avif.length }, 'meta');
  const list = meta && findIsoBox(bytes, { start: meta.start + 4, end: meta.end }, 'iinf');
  if (list === undefined) return t.fail('no list of items');
  const items = [...isoBoxes(bytes, { start: list.start + 6, end: list.end })];
  t.ok(items.length >= 2);
  const swapped = Buffer.from(avif);
  Buffer.concat(items.toReversed().map(({ at, next }) => avif.subarray(at, next))).copy(
    swapped,
    items[0]?.at,
  );
  await check(t, 'as written', avif, { orientation: 1 });
  await check(t, 'the other way round', swapped, { orientation: 1 });
});

/** A TIFF of two pages, each with its own artist and XMP. */
function twoPages(names: readonly [string, string]): Buffer {
  const parts: Buffer[] = [Buffer.from('II*\0\0\0\0\0', 'latin1')];
  let end = 8;
  const put = (bytes: Buffer) => {
    parts.push(bytes, Buffer.alloc(bytes.length % 2));
    const at = end;
    end += bytes.length + (bytes.length % 2);
    return at;
  };
  let linkAt = 4;
  const links: [at: number, to: number][] = [];
  for (const name of names) {
    const pixels = put(Buffer.alloc(WIDTH * HEIGHT, 0x80));
    const artist = put(Buffer.from(`${name}\0`));
    const packet = Buffer.from(String(XMP).replace('Jane', name));
    const xmp = put(packet);
    const fields = [
      [256, 3, 1, WIDTH],
      [257, 3, 1, HEIGHT],
      [258, 3, 1, 8],
      [259, 3, 1, 1],
      [262, 3, 1, 1],
      [273, 4, 1, pixels],
      [277, 3, 1, 1],
      [278, 3, 1, HEIGHT],
      [279, 4, 1, WIDTH * HEIGHT],
      [315, 2, name.length + 1, artist],
      [700, 1, packet.length, xmp],
    ] as const;
    const directory = Buffer.alloc(2 + fields.length * 12 + 4);
    directory.writeUInt16LE(fields.length, 0);
    for (const [index, [tag, type, count, value]] of fields.entries()) {
      directory.writeUInt16LE(tag, 2 + index * 12);
      directory.writeUInt16LE(type, 4 + index * 12);
      directory.writeUInt32LE(count, 6 + index * 12);
      directory.writeUInt32LE(value, 10 + index * 12);
    }
    const at = put(directory);
    links.push([linkAt, at]);
    linkAt = at + directory.length - 4;
  }
  const file = Buffer.concat(parts);
  for (const [at, to] of links) file.writeUInt32LE(to, at);
  return file;
}

t.test('a page of a TIFF has its own tags, which go with it', async (t) => {
  const file = twoPages(['First Name', 'Other Name']);
  t.match(await describeImage(new Uint8Array(file)), {
    metadata: { xmp: { creator: ['First Name'] }, exif: { Artist: 'First Name' } },
  });
  for (const [frame, name, other] of [
    [0, 'First Name', /Other/],
    [1, 'Other Name', /First/],
  ] as const) {
    for (const metadata of ['keep', 'copyright'] as const) {
      for (const format of FORMATS) {
        const { data } = await made(file, passOf([], { format, metadata }, { frame }));
        const where = `page ${frame} as ${format}, ${metadata}`;
        t.match(await describeImage(data), { metadata: { xmp: { creator: [name] } } }, where);
        t.notMatch(Buffer.from(data).toString('latin1'), other, where);
      }
    }
    const { data } = await made(file, passOf([], { format: 'tiff', metadata: 'keep' }, { frame }));
    t.match(await describeImage(data), { metadata: { exif: { Artist: name } } }, `page ${frame}: EXIF`);
  }
});
