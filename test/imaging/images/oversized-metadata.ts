import sharp from 'sharp';
import { buildJpegSegment, JPEG_MARKERS } from '../../../workers/formats/jpeg.ts';
import { buildPngChunk } from '../../../workers/formats/png.ts';

/** Small pictures whose metadata costs decoders seconds or gigabytes. */

const latin1 = (text: string) => Buffer.from(text, 'latin1');
const be16 = (value: number) => Buffer.from([value >> 8, value & 255]);
const be32 = (value: number) => Buffer.concat([be16(value >>> 16), be16(value & 0xffff)]);
const le16 = (value: number) => be16(value).reverse();
const le32 = (value: number) => be32(value).reverse();

const repeat = <T>(count: number, of: (index: number) => T) =>
  Array.from({ length: count }, (_, at) => of(at));
const entry = (tag: number, type: number, value: number) =>
  Buffer.concat([le16(tag), le16(type), le32(1), le32(value)]);
const directory = (entries: Buffer[], next = 0) =>
  Buffer.concat([le16(entries.length), ...entries, le32(next)]);
const tiff = (...parts: Buffer[]) => Buffer.concat([latin1('II*\0'), le32(8), ...parts]);

const [EXIF_POINTER, LONG, SHORT] = [0x8769, 4, 3];

/** EXIF whose first directory has pointers to itself. */
export function exifOfPointers(count: number): Buffer {
  return tiff(directory(repeat(count, () => entry(EXIF_POINTER, LONG, 8))));
}

/** EXIF whose pointers are in the directory of the thumbnail. */
export function exifOfThumbnailPointers(count: number): Buffer {
  return tiff(directory([], 14), directory(repeat(count, () => entry(EXIF_POINTER, LONG, 14))));
}

const picture = sharp({ create: { width: 16, height: 16, channels: 3, background: '#204060' } });

/** The pictures of each format that can have this EXIF, by the name of the format. */
export async function picturesWith(exif: Buffer): Promise<Record<'jpeg' | 'png' | 'webp' | 'avif', Buffer>> {
  const [jpeg, png, webp] = [
    await picture.clone().jpeg().toBuffer(),
    await picture.clone().png().toBuffer(),
    await picture
      .clone()
      .withExif({ IFD0: { Artist: 'A' } })
      .webp()
      .toBuffer(),
  ];
  const segment = buildJpegSegment(JPEG_MARKERS.app1, latin1('Exif\0\0'), exif);
  const exifAt = webp.lastIndexOf('EXIF');
  const chunk = Buffer.concat([latin1('EXIF'), le32(exif.length), exif]);
  const riff = Buffer.concat([webp.subarray(0, exifAt), chunk]);
  riff.writeUInt32LE(riff.length - 8, 4);
  return {
    jpeg: Buffer.concat([jpeg.subarray(0, 2), segment, jpeg.subarray(2)]),
    png: Buffer.concat([png.subarray(0, 33), buildPngChunk('eXIf', exif), png.subarray(33)]),
    webp: riff,
    avif: await avifWith(1, Buffer.concat([be32(0), exif])),
  };
}

/** A PNG that stores EXIF as text, as ImageMagick does. */
export async function pngWithRawProfile(exif: Buffer): Promise<Buffer> {
  const png = await picture.clone().png().toBuffer();
  const hex = exif.toString('hex').replace(/.{72}/g, '$&\n');
  const text = buildPngChunk('tEXt', latin1(`Raw profile type exif\0\nexif\n${exif.length}\n${hex}\n`));
  return Buffer.concat([png.subarray(0, 33), text, png.subarray(33)]);
}

/** A TIFF of equal pages, each with more tags that no program knows. */
export function tiffWithTags(pages: number, tags: number): Buffer {
  const bytesOfPage = 2 + 12 * (9 + tags) + 4;
  const pixelsAt = 8 + pages * bytesOfPage;
  const known = [
    [256, 16],
    [257, 16],
    [258, 8],
    [259, 1],
    [262, 1],
    [273, pixelsAt],
    [277, 1],
    [278, 16],
    [279, 256],
  ].map(([tag = 0, value = 0]) => entry(tag, LONG, value));
  const unknown = repeat(tags, (index) => entry(0xc800 + index, SHORT, index));
  const directories = repeat(pages, (page) =>
    directory([...known, ...unknown], page + 1 === pages ? 0 : 8 + (page + 1) * bytesOfPage),
  );
  return tiff(...directories, Buffer.alloc(256, 0x80));
}

/** An AVIF with items of EXIF that all have the same bytes. */
export async function avifWith(items: number, exif: Buffer): Promise<Buffer> {
  const avif = await picture.clone().avif({ effort: 0 }).toBuffer();
  const box = (type: string, ...content: Buffer[]) => {
    const body = Buffer.concat(content);
    return Buffer.concat([be32(8 + body.length), latin1(type), body]);
  };
  const fullBox = (type: string, version: number, ...content: Buffer[]) =>
    box(type, Buffer.from([version, 0, 0, 0]), ...content);
  const boxesIn = (bytes: Buffer) => {
    const boxes: Record<string, Buffer> = {};
    for (let at = 0; at < bytes.length; at += bytes.readUInt32BE(at))
      boxes[bytes.toString('latin1', at + 4, at + 8)] = bytes.subarray(at, at + bytes.readUInt32BE(at));
    return boxes;
  };
  const { ftyp = Buffer.alloc(0), meta = Buffer.alloc(0), mdat = Buffer.alloc(0) } = boxesIn(avif);
  const { hdlr = latin1(''), pitm = latin1(''), iprp = latin1('') } = boxesIn(meta.subarray(12));
  const pixels = mdat.subarray(8);
  const ids = repeat(items, (index) => index + 2);
  const item = (id: number, type: string) => fullBox('infe', 2, be16(id), be16(0), latin1(`${type}\0`));
  const names = fullBox('iinf', 0, be16(1 + items), item(1, 'av01'), ...ids.map((id) => item(id, 'Exif')));
  const references = fullBox('iref', 0, ...ids.map((id) => box('cdsc', be16(id), be16(1), be16(1))));
  const build = (pixelsAt: number) => {
    const place = (id: number, at: number, bytes: number) =>
      Buffer.concat([be16(id), be16(0), be16(1), be32(at), be32(bytes)]);
    const places = [
      place(1, pixelsAt, pixels.length),
      ...ids.map((id) => place(id, pixelsAt + pixels.length, exif.length)),
    ];
    const iloc = fullBox('iloc', 0, be16(0x4400), be16(1 + items), ...places);
    const described = fullBox('meta', 0, hdlr, pitm, iloc, names, references, iprp);
    return Buffer.concat([ftyp, described, box('mdat', pixels, exif)]);
  };
  return build(build(0).length - pixels.length - exif.length);
}
