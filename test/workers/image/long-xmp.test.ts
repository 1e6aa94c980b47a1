// needs: nothing
import { createHash } from 'node:crypto';
import ExifReader from 'exifreader';
import sharp from 'sharp';
import t from 'tap';
import { ByteReader } from '../../../workers/formats/bytes.ts';
import {
  buildJpegSegment,
  JPEG_MARKERS,
  jpegSegments,
  withJpegSegments,
} from '../../../workers/formats/jpeg.ts';
import { describeImage } from '../../../workers/image/metadata/metadata.ts';
import { made, passOf } from './passes.ts';

/** XMP that does not fit into one segment of a JPEG. */

const RDF = 'http://www.w3.org/1999/02/22-rdf-syntax-ns#';
const NAMESPACES =
  'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/" xmlns:note="http://ns.adobe.com/xmp/note/" xmlns:depth="http://ns.google.com/photos/1.0/depthmap/" xmlns:tiff="http://ns.adobe.com/tiff/1.0/"';
const picture = sharp({ create: { width: 8, height: 8, channels: 3, background: '#369' } });
const FORMATS = ['jpeg', 'png', 'webp', 'avif', 'tiff'] as const;
const MAIN = Buffer.from('http://ns.adobe.com/xap/1.0/\0');
const REST = Buffer.from('http://ns.adobe.com/xmp/extension/\0');

/** A packet of descriptions; all of its namespaces are declared around them. */
const packetOf = (...descriptions: string[]) =>
  Buffer.from(
    `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="${RDF}" ${NAMESPACES}>${descriptions.join('')}</rdf:RDF></x:xmpmeta>`,
  );
const described = (attributes: string, content = '') =>
  `<rdf:Description rdf:about="" ${attributes}>${content}</rdf:Description>`;

/** A JPEG with a second packet, to which the main one refers. */
async function withSecond(attributes: string, content: string, second: Buffer): Promise<Buffer> {
  const digest = createHash('md5').update(second).digest('hex').toUpperCase();
  const main = packetOf(described(`note:HasExtendedXMP="${digest}" ${attributes}`, content));
  const segments = [buildJpegSegment(JPEG_MARKERS.app1, MAIN, main)];
  for (let offset = 0; offset < second.length; offset += 60_000) {
    const numbers = Buffer.alloc(8);
    numbers.writeUInt32BE(second.length, 0);
    numbers.writeUInt32BE(offset, 4);
    const part = second.subarray(offset, offset + 60_000);
    segments.push(buildJpegSegment(JPEG_MARKERS.app1, REST, Buffer.from(digest), numbers, part));
  }
  return Buffer.from(withJpegSegments(new Uint8Array(await picture.clone().jpeg().toBuffer()), segments));
}

const kept = async (file: Uint8Array, format: (typeof FORMATS)[number]) =>
  Buffer.from((await made(file, passOf([], { format, metadata: 'keep' }))).data);

async function tagsOf(file: Uint8Array) {
  const told = await describeImage(new Uint8Array(file));
  if (told.kind === 'failure') throw new Error(told.message);
  return told.metadata.xmp ?? {};
}

/** The lengths of the segments that hold XMP. */
function xmpSegments(file: Buffer): number[] {
  const bytes = new ByteReader(file);
  return [...jpegSegments(bytes)]
    .filter(({ marker, start }) => marker === JPEG_MARKERS.app1 && /^http:/.test(bytes.text(start, 5)))
    .map(({ start, end }) => end - start);
}

t.test('what a second packet says is kept, without what is true of the original alone', async (t) => {
  const second = packetOf(
    described('xmp:Rating="1" photoshop:City="Wien" depth:Data="secret"', '<xmp:Label>second</xmp:Label>'),
    described('tiff:Orientation="6"'),
    described('', '<xmp:Nickname>Späte</xmp:Nickname><xmp:Thumbnails>secret</xmp:Thumbnails>'),
  );
  const file = await withSecond('xmp:Rating="5"', '<xmp:Label>main</xmp:Label>', second);
  for (const format of FORMATS) {
    const result = await kept(file, format);
    t.match(await tagsOf(result), { Rating: '5', Label: 'main', City: 'Wien', Nickname: 'Späte' }, format);
    const { xmp = '' } = await sharp(result).metadata();
    t.equal(
      String(xmp).match(/xmp:(Rating|Label)[=>]/g)?.length,
      3,
      `${format}: each property is there once`,
    );
    t.notMatch(result.toString('latin1'), /secret|Orientation|HasExtended/, format);
  }
});

/** A list of so many bytes. */
const historyOf = (bytes: number) =>
  `<photoshop:History><rdf:Seq>${'<rdf:li>crop and save again</rdf:li>'.repeat(Math.floor(bytes / 36))}</rdf:Seq></photoshop:History>`;

t.test('a JPEG gets a second packet for what does not fit into one segment', async (t) => {
  const long = packetOf(described('photoshop:City="Wien"', historyOf(200_000)));
  const creator = '<dc:creator><rdf:Seq><rdf:li>Jane</rdf:li></rdf:Seq></dc:creator>';
  const file = await withSecond('xmp:Rating="5"', creator, long);
  const framed = Buffer.from(
    `<?xpacket begin="\uFEFF" id="W5M0MpCehiHzreSzNTczkc9d"?>${packetOf(described('xmp:Rating="5"', creator), described('photoshop:City="Wien"', historyOf(200_000)))}<?xpacket end="w"?>`,
  );
  const png = await picture.clone().withXmp(String(framed)).png().toBuffer();
  for (const [name, input] of Object.entries({ jpeg: file, png })) {
    const first = await kept(input, 'jpeg');
    const result = await kept(first, 'jpeg');
    t.equal(xmpSegments(result).length, 5, `${name}: one main segment and four`);
    const tags = await tagsOf(result);
    t.match(tags, { Rating: '5', City: 'Wien', creator: ['Jane'] }, name);
    t.match(ExifReader.load(result).City, { value: 'Wien' }, `${name}: another reader`);
    const main = (await sharp(result).metadata()).xmp?.toString() ?? '';
    t.match(main, /Jane/, `${name}: a reader of one segment knows what stood in the main packet`);
    t.notMatch(main, /History/, name);
    t.notMatch(result.subarray(first.indexOf(REST)).toString('latin1'), /xpacket/, name);
    const { xmp = '' } = await sharp(await kept(result, 'webp')).metadata();
    t.equal(String(xmp).match(/crop and save again/g)?.length, Math.floor(200_000 / 36), `${name}: back`);
  }
});

t.test('one description that is too long for a segment is kept', async (t) => {
  const png = await picture
    .clone()
    .withXmp(String(packetOf(described('photoshop:City="Wien"', historyOf(62_000)))))
    .png()
    .toBuffer();
  t.match(await tagsOf(await kept(png, 'jpeg')), { City: 'Wien' });
});

t.test('what would be too long to be read again is not written', async (t) => {
  const quotes = described('photoshop:City="Wien"', `<dc:source>${"'".repeat(900_000)}</dc:source>`);
  const png = await picture
    .clone()
    .withXmp(String(packetOf(described('xmp:Rating="5"'), quotes)))
    .png()
    .toBuffer();
  const result = await kept(png, 'jpeg');
  t.same(await tagsOf(result), { Rating: '5' });
  t.equal(xmpSegments(result).length, 1);
  t.notMatch(result.toString('latin1'), /HasExtended/);
});
