// needs: server
import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import t from 'tap';
import { ByteReader } from '../../../workers/formats/bytes.ts';
import { withJpegSegments } from '../../../workers/formats/jpeg.ts';
import { buildPngChunk, replacePngChunks } from '../../../workers/formats/png.ts';
import { tiffPageDirectories } from '../../../workers/formats/tiff.ts';
import { tiffEntrySize, withTiffDirectory } from '../../../workers/formats/tiff-directory.ts';
import { buildRightsIptc, iptcSegment } from '../../../workers/image/metadata/iptc.ts';
import { openCalls, pictureOf } from './calls.ts';

const calls = await openCalls(t);
const EXIF_FORMATS = ['jpeg', 'png', 'webp', 'avif', 'tiff'];
const FORMATS = [...EXIF_FORMATS, 'gif'];
const NOTICE = '© Ünal';

const create = { width: 40, height: 30, channels: 3, background: '#a05030' } as const;
const picture = () => sharp({ create });

/** All that the metadata of a file says, as one text. */
async function told(file: Uint8Array, format: string): Promise<string> {
  return JSON.stringify((await calls.metadata(file, `image/${format}`)).json.data.metadata);
}

async function converted(file: Uint8Array, from: string, query: Record<string, unknown>) {
  const answer = await calls.transform({ op: 'flip', axis: 'vertical', ...query }, file, `image/${from}`);
  t.equal(answer.status, 200, JSON.stringify(query));
  return answer;
}

/** A PNG with copyright and author in chunks of one type. */
async function pngWithTexts(type: 'tEXt' | 'zTXt' | 'iTXt', isPacked = type === 'zTXt'): Promise<Uint8Array> {
  const chunks = Object.entries({ Copyright: NOTICE, Author: 'Ann', Comment: 'No right' }).map(
    ([name, value]) => {
      const text = Buffer.from(value, type === 'iTXt' ? 'utf8' : 'latin1');
      const head = { tEXt: '', zTXt: '\0', iTXt: `${isPacked ? '\x01' : '\0'}\0de\0\0` }[type];
      return buildPngChunk(
        type,
        Buffer.concat([Buffer.from(`${name}\0${head}`, 'latin1'), isPacked ? deflateSync(text) : text]),
      );
    },
  );
  const png = new Uint8Array(await picture().png().toBuffer());
  return replacePngChunks(png, ({ type, at, next }, file) =>
    type === 'IHDR' ? Buffer.concat([file.subarray(at, next), ...chunks]) : undefined,
  );
}

const withTexts: [name: string, file: Uint8Array][] = [
  ['tEXt', await pngWithTexts('tEXt')],
  ['zTXt', await pngWithTexts('zTXt')],
  ['iTXt', await pngWithTexts('iTXt')],
  ['packed iTXt', await pngWithTexts('iTXt', true)],
];

for (const [name, file] of withTexts) {
  t.test(`copyright and author in the texts of a PNG are rights: ${name}`, async (t) => {
    t.match(await told(file, 'png'), NOTICE, 'the metadata says them as they are');
    for (const format of FORMATS) {
      const rights = await told(
        (await converted(file, 'png', { format, metadata: 'copyright' })).bytes,
        format,
      );
      t.match(rights, NOTICE, `copyright to ${format}`);
      t.match(rights, 'Ann', `copyright to ${format}`);
      t.notMatch(rights, 'No right', `copyright to ${format}`);
      const kept = await converted(file, 'png', { format, metadata: 'keep' });
      t.match(await told(kept.bytes, format), NOTICE, `keep to ${format}`);
      const isWarned = /metadata_dropped/.test(kept.headers.get('x-service-warnings') ?? '');
      t.equal(isWarned, format !== 'png', `keep to ${format} tells that the comment is dropped`);
    }
  });
}

t.test(
  'rights in IPTC are kept in formats that cannot carry IPTC, and what is dropped is told',
  async (t) => {
    const jpeg = new Uint8Array(await picture().jpeg().toBuffer());
    const iptc = buildRightsIptc(['Ann'], [NOTICE]);
    t.ok(iptc);
    const file = withJpegSegments(jpeg, [iptcSegment(iptc as Buffer)]);
    for (const format of FORMATS) {
      const kept = await converted(file, 'jpeg', { format, metadata: 'keep' });
      t.match(await told(kept.bytes, format), NOTICE, format);
      const isWarned = /metadata_dropped/.test(kept.headers.get('x-service-warnings') ?? '');
      t.equal(isWarned, format !== 'jpeg' && format !== 'tiff', format);
    }
    const redacted = await calls.transform(
      { op: 'redact', regions: [{ x: 0, y: 0, width: 9, height: 9 }], format: 'webp', metadata: 'keep' },
      file,
      'image/jpeg',
    );
    t.match(await told(redacted.bytes, 'webp'), NOTICE, 'and where something is hidden');
  },
);

t.test('the EXIF of a TIFF is kept in every format, beside its pixels and their depth', async (t) => {
  const exif = { IFD0: { Artist: 'Ann', Make: 'Maker' }, IFD2: { ExposureTime: '1/125', LensModel: 'Lens' } };
  const jpeg = await picture().withExif(exif).jpeg().toBuffer();
  const tiff = (await converted(jpeg, 'jpeg', { format: 'tiff', metadata: 'keep' })).bytes;
  for (const format of EXIF_FORMATS) {
    const kept = await converted(tiff, 'tiff', { format, metadata: 'keep' });
    const { metadata } = (await calls.metadata(kept.bytes, `image/${format}`)).json.data;
    t.match(metadata.exif, { Artist: 'Ann', Make: 'Maker', ExposureTime: 0.008, LensModel: 'Lens' }, format);
    const [red = 0, green = 0, blue = 0] = (await pictureOf(kept)).at(9, 9);
    t.ok(
      Math.abs(red - 160) + Math.abs(green - 80) + Math.abs(blue - 48) < 12,
      `${format}: ${red} ${green} ${blue}`,
    );
  }
});

t.test('the rights of a BigTIFF are read', async (t) => {
  const plain = await picture().tiff({ bigtiff: true }).toBuffer();
  const [directory] = tiffPageDirectories(new ByteReader(plain));
  if (directory === undefined) throw new Error('sharp has written no directory.');
  const copied = directory.entries.map(({ tag, at }) => ({
    tag,
    copied: plain.subarray(at, at + tiffEntrySize(directory)),
  }));
  // Tag 0x8298, the type of texts, eight characters, and the text itself.
  const copyright = Buffer.from('\x98\x82\x02\0\x08\0\0\0\0\0\0\0(c) Ann\0', 'latin1');
  const file = withTiffDirectory(plain, directory, [...copied, { tag: 0x8298, copied: copyright }]);
  t.match(await told(file, 'tiff'), '"Copyright":"(c) Ann"');
  for (const format of FORMATS)
    for (const metadata of ['copyright', 'keep'])
      t.match(
        await told((await converted(file, 'tiff', { format, metadata })).bytes, format),
        '(c) Ann',
        `${metadata} to ${format}`,
      );
});

/** A GIF with an XMP packet, and a trailer that leads readers of sub-blocks to its end. */
function gifWithXmp(gif: Buffer, packet: string): Buffer {
  const lengths = Array.from({ length: 256 }, (_, index) => 255 - index);
  return Buffer.concat([
    gif.subarray(0, -1),
    Buffer.from('\x21\xff\x0bXMP DataXMP', 'latin1'),
    Buffer.from(packet),
    Buffer.from([1, ...lengths, 0]),
    gif.subarray(-1),
  ]);
}

t.test('the XMP of a GIF is read, and kept in every format', async (t) => {
  const about = `rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/"`;
  const rights = `<dc:rights><rdf:Alt><rdf:li xml:lang="x-default">${NOTICE}</rdf:li></rdf:Alt></dc:rights>`;
  const packet = `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description ${about} xmp:Label="Holiday">${rights}</rdf:Description></rdf:RDF></x:xmpmeta>`;
  const strip = sharp(await Promise.all([picture().png().toBuffer(), picture().negate().png().toBuffer()]), {
    join: { animated: true },
  });
  const moving = gifWithXmp(await strip.gif().toBuffer(), packet);
  const file = gifWithXmp(await picture().gif().toBuffer(), packet);
  t.match(await told(file, 'gif'), NOTICE);
  for (const format of FORMATS) {
    const kept = await told((await converted(file, 'gif', { format, metadata: 'keep' })).bytes, format);
    t.match(kept, NOTICE, `keep to ${format}`);
    t.match(kept, 'Holiday', `keep to ${format}`);
    const alone = await told((await converted(file, 'gif', { format, metadata: 'copyright' })).bytes, format);
    t.match(alone, NOTICE, `copyright to ${format}`);
    t.notMatch(alone, 'Holiday', `copyright to ${format}`);
    t.notMatch(
      await told((await converted(file, 'gif', { format })).bytes, format),
      NOTICE,
      `strip to ${format}`,
    );
  }
  const result = (await converted(moving, 'gif', { metadata: 'copyright' })).bytes;
  t.match(await told(result, 'gif'), NOTICE, 'of an animation');
  t.equal((await sharp(result).metadata()).pages, 2);
});

t.test('the rights of EXIF are written to a GIF as XMP, and the EXIF is told as dropped', async (t) => {
  const exif = { IFD0: { Artist: 'Ann', Copyright: '(c) Ann', Make: 'Maker' } };
  const jpeg = await picture().withExif(exif).jpeg().toBuffer();
  const tiff = (await converted(jpeg, 'jpeg', { format: 'tiff', metadata: 'keep' })).bytes;
  for (const [file, from] of [
    [jpeg, 'jpeg'],
    [tiff, 'tiff'],
  ] as const) {
    for (const metadata of ['keep', 'copyright']) {
      const gif = await converted(file, from, { format: 'gif', metadata });
      const { xmp } = (await calls.metadata(gif.bytes, 'image/gif')).json.data.metadata;
      t.match(JSON.stringify(xmp), '(c) Ann', `${metadata} from ${from}`);
      t.match(JSON.stringify(xmp), '"Ann"', `${metadata} from ${from}`);
      const warnings = gif.headers.get('x-service-warnings')?.split(',') ?? [];
      const dropped = warnings.filter((code) => code === 'metadata_dropped');
      t.equal(dropped.length, metadata === 'keep' ? 1 : 0, `${metadata} from ${from}`);
    }
  }
});
