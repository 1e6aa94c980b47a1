import sharp from 'sharp';
import { buildJpegSegment, JPEG_MARKER_BYTES, JPEG_MARKERS } from '../../../workers/formats/jpeg.ts';
import { buildPngChunk } from '../../../workers/formats/png.ts';
import { drawn } from './passes.ts';

/** Pictures with a second picture in every place that is known to hold one. */

/** Stands in the second picture alone, as a comment of its file. */
const MARK = 'the second picture';

/** A small JPEG that carries the mark. */
export const preview: Buffer = await sharp({
  create: { width: 16, height: 12, channels: 3, background: '#369' },
})
  .jpeg()
  .toBuffer()
  .then((jpeg) => {
    const comment = buildJpegSegment(0xfe, Buffer.from(MARK));
    return Buffer.concat([jpeg.subarray(0, JPEG_MARKER_BYTES), comment, jpeg.subarray(JPEG_MARKER_BYTES)]);
  });

/** The XMP properties that hold a copy in base64, as elements and as an attribute, with others that stay. */
function packetOf(base64: string): Buffer {
  return Buffer.from(`<?xpacket begin="\uFEFF" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/"
 xmlns:small="http://ns.adobe.com/xap/1.0/g/img/" xmlns:GImage="http://ns.google.com/photos/1.0/image/"
 xmlns:GDepth="http://ns.google.com/photos/1.0/depthmap/" xmlns:own="http://example.com/own/"
 GImage:Mime="image/jpeg" GImage:Data="${base64}" own:copy="${base64}" xmp:CreatorTool="A tool">
<dc:creator><rdf:Seq><rdf:li>A. Example</rdf:li></rdf:Seq></dc:creator>
<xmp:Thumbnails><rdf:Alt><rdf:li rdf:parseType="Resource"><small:width>16</small:width>
<small:image>${base64.replace(/.{76}/g, '$&&#xA;')}</small:image></rdf:li></rdf:Alt></xmp:Thumbnails>
<GDepth:Data>${base64}</GDepth:Data><own:other>${base64}</own:other>
</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>`);
}

type Field = [tag: number, type: number, value: Buffer | number];
const [ASCII, LONG, UNDEFINED] = [2, 4, 7];

/** A big-endian TIFF structure of four directories: the first, that of EXIF, that of GPS, that of the thumbnail. */
function exifOf(copy: Buffer): Buffer {
  const parts: Buffer[] = [Buffer.from('MM\0*\0\0\0\x08', 'latin1')];
  let end = 8;
  const put = (bytes: Buffer) => {
    const at = end;
    parts.push(bytes, Buffer.alloc(bytes.length % 2));
    end += bytes.length + (bytes.length % 2);
    return at;
  };
  // A directory, its values behind it, and then the directories to which its last fields lead.
  const directory = (fields: Field[], led: [tag: number, fields: Field[]][] = [], next?: Field[]) => {
    const table = Buffer.alloc(2 + (fields.length + led.length) * 12 + 4);
    put(table);
    table.writeUInt16BE(fields.length + led.length);
    const entry = (index: number, tag: number, type: number, count: number) => {
      const at = 2 + index * 12;
      table.writeUInt16BE(tag, at);
      table.writeUInt16BE(type, at + 2);
      table.writeUInt32BE(count, at + 4);
      return at + 8;
    };
    for (const [index, [tag, type, value]] of fields.entries()) {
      if (typeof value === 'number') table.writeUInt32BE(value, entry(index, tag, type, 1));
      else table.writeUInt32BE(put(value), entry(index, tag, type, value.length));
    }
    for (const [index, [tag, below]] of led.entries()) {
      table.writeUInt32BE(end, entry(fields.length + index, tag, LONG, 1));
      directory(below);
    }
    if (next === undefined) return;
    table.writeUInt32BE(end, table.length - 4);
    directory(next);
  };
  const text = (value: string) => Buffer.from(`${value}\0`);
  const thumbnailAt = put(copy);
  // The first directory stands after the copy.
  parts[0]?.writeUInt32BE(end, 4);
  directory(
    [
      [0x013b, ASCII, text('A. Example')],
      [0x8298, ASCII, text('(c) Example')],
      [0x8649, UNDEFINED, copy],
    ],
    [
      [
        0x8769,
        [
          [0x927c, UNDEFINED, copy],
          [0x9286, UNDEFINED, Buffer.concat([Buffer.alloc(8), copy])],
          [0xa002, LONG, 4000],
          [0xa003, LONG, 3000],
        ],
      ],
    ],
    [
      [0x0103, LONG, 6],
      [0x0201, LONG, thumbnailAt],
      [0x0202, LONG, copy.length],
    ],
  );
  return Buffer.concat(parts);
}

/** A Photoshop block with a thumbnail and a by-line. */
function photoshopOf(copy: Buffer): Buffer {
  const resource = (number: number, content: Buffer) => {
    const head = Buffer.from('8BIM\0\0\0\0\0\0\0\0', 'latin1');
    head.writeUInt16BE(number, 4);
    head.writeUInt32BE(content.length, 8);
    return Buffer.concat([head, content, Buffer.alloc(content.length % 2)]);
  };
  const dataset = (number: number, content: Buffer) => {
    const head = Buffer.from([0x1c, 2, number, content.length >> 8, content.length & 255]);
    return Buffer.concat([head, content]);
  };
  const iptc = Buffer.concat([dataset(80, Buffer.from('A. Example')), dataset(202, copy)]);
  const thumbnail = resource(1036, Buffer.concat([Buffer.alloc(28), copy]));
  return Buffer.concat([Buffer.from('Photoshop 3.0\0'), thumbnail, resource(0x0404, iptc)]);
}

const plain = await drawn(48, 36, (x, y) => [x < 24 ? 200 : 30, y < 18 ? 40 : 180, 90]);

const jpeg = await sharp(plain)
  .jpeg()
  .toBuffer()
  .then((file) =>
    Buffer.concat([
      file.subarray(0, JPEG_MARKER_BYTES),
      buildJpegSegment(JPEG_MARKERS.app1, Buffer.from('Exif\0\0'), exifOf(preview)),
      buildJpegSegment(
        JPEG_MARKERS.app1,
        Buffer.from('http://ns.adobe.com/xap/1.0/\0'),
        packetOf(preview.toString('base64')),
      ),
      buildJpegSegment(JPEG_MARKERS.app13, photoshopOf(preview)),
      buildJpegSegment(0xe2, Buffer.from('MPF\0'), preview),
      file.subarray(JPEG_MARKER_BYTES),
      preview,
    ]),
  );

/** What libvips makes of the JPEG in another format: with the same EXIF and XMP. */
const carriedOver = (format: 'png' | 'webp' | 'avif' | 'tiff') =>
  sharp(jpeg).keepMetadata()[format]().toBuffer();

const hex = exifOf(preview).toString('hex').replace(/.{72}/g, '$&\n');
const text = (keyword: string, value: string) =>
  buildPngChunk('tEXt', Buffer.from(`${keyword}\0${value}`, 'latin1'));
const PNG_HEAD_BYTES = 33;

const png = await carriedOver('png').then((file) =>
  Buffer.concat([
    file.subarray(0, PNG_HEAD_BYTES),
    text('Raw profile type exif', `\nexif\n${exifOf(preview).length}\n${hex}`),
    text('Copy', preview.toString('base64')),
    text('Title', 'A title'),
    file.subarray(PNG_HEAD_BYTES),
  ]),
);

/** By format. */
export const previewed: Readonly<Record<'jpeg' | 'png' | 'webp' | 'avif' | 'tiff', Buffer>> = {
  jpeg,
  png,
  webp: await carriedOver('webp'),
  avif: await carriedOver('avif'),
  tiff: await carriedOver('tiff'),
};

const SIGNATURES = [
  ...[Buffer.from([0xff, 0xd8, 0xff]), Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')],
  ...['/9j/', 'iVBORw0KGgo', 'UklGR', MARK, 'ffd8ff'].map((sign) => Buffer.from(sign)),
];

/** A file without its first byte, and its blocks, which some formats deflate. */
export async function piecesOf(file: Uint8Array): Promise<Buffer> {
  const { exif, xmp, iptc, comments } = await sharp(file).metadata();
  const blocks = [exif, xmp, iptc, Buffer.from(JSON.stringify(comments ?? []))];
  return Buffer.concat([file.subarray(1), ...blocks.map((block) => block ?? Buffer.alloc(0))]);
}

/** The signs of a second picture in a file. */
export async function secondPictureIn(file: Uint8Array): Promise<string[]> {
  const pieces = await piecesOf(file);
  const found = SIGNATURES.filter((sign) => pieces.includes(sign)).map((sign) => sign.toString('latin1'));
  const webpAt = pieces.indexOf('RIFF');
  if (webpAt !== -1 && pieces.toString('latin1', webpAt + 8, webpAt + 12) === 'WEBP') found.push('WEBP');
  return found;
}
