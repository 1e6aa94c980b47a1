// needs: nothing
import ExifReader from 'exifreader';
import sharp from 'sharp';
import t from 'tap';
import { buildPngChunk } from '../../../workers/formats/png.ts';
import { describeImage } from '../../../workers/image/metadata/metadata.ts';
import type { EncodeOptions } from '../../../workers/protocol.ts';
import { image, needsImages } from '../../support/images.ts';
import { difference, drawn, made, passOf, raster, type StepText } from './passes.ts';

const corpus = needsImages(t);
const FORMATS = ['jpeg', 'png', 'webp', 'avif', 'tiff'] as const;
const PASSES: StepText[][] = [[], [['resize', { width: 8 }], ['flip'], ['resize', { width: 4 }]]];

const XMP = `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:xmpRights="http://ns.adobe.com/xap/1.0/rights/" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/"
 xmpRights:Marked="True" photoshop:City="Secretville">
<dc:rights><rdf:Alt><rdf:li xml:lang="x-default">(c) Jane &amp; Co</rdf:li></rdf:Alt></dc:rights>
<dc:creator><rdf:Seq><rdf:li>Jane</rdf:li><rdf:li>Bob</rdf:li></rdf:Seq></dc:creator>
<xmpRights:WebStatement>https://rights.example/</xmpRights:WebStatement>
<xmpRights:UsageTerms><rdf:Alt><rdf:li xml:lang="x-default">Ask</rdf:li></rdf:Alt></xmpRights:UsageTerms>
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">secret</rdf:li></rdf:Alt></dc:title>
</rdf:Description></rdf:RDF></x:xmpmeta>`;

const owned = await sharp(await drawn(16, 16, (x, y) => [x * 16, y * 16, 99]))
  .withExif({
    IFD0: { Copyright: 'Jane Doe', Artist: 'Jane', Software: 'secret', Make: 'Camera', Model: 'One' },
    IFD2: { FNumber: '28/10', LensModel: 'Long one' },
    IFD3: { GPSLatitudeRef: 'N' },
  })
  .withXmp(XMP)
  .jpeg({ quality: 100, chromaSubsampling: '4:4:4' })
  .toBuffer();

async function tagsOf(file: Uint8Array) {
  const told = await describeImage(new Uint8Array(file));
  if (told.kind === 'failure') throw new Error(told.message);
  return told.metadata;
}

t.test('copyright keeps the rights of EXIF and XMP, and nothing else, in every format', async (t) => {
  for (const format of FORMATS) {
    for (const steps of PASSES) {
      const { data } = await made(owned, passOf(steps, { format, metadata: 'copyright' }));
      const { exif, xmp } = await tagsOf(data);
      t.match(exif, { Copyright: 'Jane Doe', Artist: 'Jane' }, `${format}: EXIF`);
      t.strictSame(
        xmp,
        {
          rights: ['(c) Jane & Co'],
          creator: ['Jane', 'Bob'],
          Marked: 'True',
          WebStatement: 'https://rights.example/',
          UsageTerms: ['Ask'],
        },
        `${format}: XMP`,
      );
      t.notMatch(Buffer.from(data).toString('latin1'), /secret|Camera|Secretville|Long one/i, format);
    }
  }
});

t.test('rights that IPTC alone tells are carried as XMP', async (t) => {
  const record = (dataset: number, text: string) =>
    Buffer.concat([Buffer.from([0x1c, 2, dataset, 0, text.length]), Buffer.from(text)]);
  const iptc = Buffer.concat([record(80, 'Jane'), record(116, '(c) Jane'), record(5, 'secret')]);
  const resource = Buffer.from('Photoshop 3.0\x008BIM\x04\x04\0\0\0\0\0\0', 'latin1');
  resource.writeUInt32BE(iptc.length, resource.length - 4);
  const segment = Buffer.concat([
    Buffer.from([0xff, 0xed, 0, 0]),
    resource,
    iptc,
    Buffer.alloc(iptc.length % 2),
  ]);
  segment.writeUInt16BE(segment.length - 2, 2);
  const plain = await sharp(await drawn(16, 16, () => [1, 2, 3]))
    .jpeg()
    .toBuffer();
  const input = Buffer.concat([plain.subarray(0, 2), segment, plain.subarray(2)]);
  for (const format of FORMATS) {
    const { data } = await made(input, passOf([], { format, metadata: 'copyright' }));
    if (format === 'jpeg' || format === 'tiff') {
      const { iptc } = ExifReader.load(Buffer.from(data), { expanded: true });
      t.match(iptc, {
        'By-line': { description: 'Jane' },
        'Copyright Notice': { description: '(c) Jane' },
      });
    }
    t.strictSame((await tagsOf(data)).xmp, { rights: ['(c) Jane'], creator: ['Jane'] }, format);
    t.notOk(Buffer.from(data).includes('secret'), format);
  }
});

t.test('keep keeps the tags of cameras in every format', async (t) => {
  for (const format of FORMATS) {
    for (const steps of PASSES) {
      const { data } = await made(owned, passOf(steps, { format, metadata: 'keep' }));
      const { exif, gps, xmp } = await tagsOf(data);
      t.match(
        exif,
        { Copyright: 'Jane Doe', Make: 'Camera', Model: 'One', FNumber: 2.8, LensModel: 'Long one' },
        `${format}: EXIF`,
      );
      t.match(JSON.stringify([exif, gps]), /"N"/, `${format}: the place`);
      t.match(xmp, { City: 'Secretville' }, `${format}: XMP`);
    }
  }
});

t.test('a TIFF keeps its tags, and is the same picture with them', async (t) => {
  const first = await made(owned, passOf([], { format: 'tiff', metadata: 'keep' }));
  const plain = await made(owned, passOf([], { format: 'tiff' }));
  t.equal(difference(await raster(first.data), await raster(plain.data)), 0);
  t.equal((await tagsOf(plain.data)).exif?.Make, undefined, 'stripped, it has none');
  const again = await made(first.data, passOf([['flip']], { metadata: 'keep' }));
  t.match((await tagsOf(again.data)).exif, { Make: 'Camera', FNumber: 2.8, ImageWidth: 16 });
  for (const target of [{ maxBytes: 100_000 }, { minSsim: 0.9 }] as NonNullable<EncodeOptions['target']>[]) {
    const { data } = await made(owned, passOf([], { format: 'tiff', metadata: 'copyright', target }));
    t.match((await tagsOf(data)).exif, { Copyright: 'Jane Doe' }, JSON.stringify(target));
    t.equal((await sharp(data).metadata()).width, 16);
  }
});

t.test('tags in the order of another machine are carried as they read', corpus, async (t) => {
  const { data } = await made(
    image('photos/nikon-d90.jpg'),
    passOf([['resize', { width: 32 }]], { format: 'tiff', metadata: 'keep' }),
  );
  t.match((await tagsOf(data)).exif, {
    Make: 'NIKON CORPORATION',
    Model: 'NIKON D90',
    ExposureTime: 0.1,
    FNumber: 3.2,
    ISOSpeedRatings: 250,
    DateTimeOriginal: '2011:04:25 01:55:30',
  });
});

t.test('what ImageMagick wrote into a PNG as text is kept like any other', corpus, async (t) => {
  const input = image('modern/paris_icc_exif_xmp.png');
  t.match((await tagsOf(input)).exif, { Make: 'Google', Model: 'Pixel 4a' });
  for (const format of FORMATS) {
    const { data } = await made(input, passOf([['resize', { width: 32 }]], { format, metadata: 'keep' }));
    const { exif, xmp } = await tagsOf(data);
    t.match(exif, { Make: 'Google', Model: 'Pixel 4a' }, `${format}: EXIF`);
    t.match(xmp, { CreatorTool: 'GIMP 2.10' }, `${format}: XMP`);
  }
});

t.test('an orientation in a text chunk of ImageMagick turns no picture, whatever is kept', async (t) => {
  const plain = await drawn(20, 10, (x) => [x * 10, 0, 0]);
  const { exif = Buffer.alloc(0) } = await sharp(
    await sharp(plain).withMetadata({ orientation: 6 }).jpeg().toBuffer(),
  ).metadata();
  const text = `\nexif\n${`${exif.length}`.padStart(8)}\n${exif.toString('hex')}\n`;
  const chunk = buildPngChunk('tEXt', Buffer.from(`Raw profile type exif\0${text}`));
  const input = Buffer.concat([plain.subarray(0, 33), chunk, plain.subarray(33)]);
  for (const metadata of ['strip', 'keep', 'copyright'] as const)
    for (const format of ['png', 'jpeg', 'webp'] as const) {
      const { data, width, height } = await made(
        input,
        passOf([['resize', { width: 10 }]], { format, metadata }),
      );
      t.same([width, height], [10, 5], `${metadata} ${format}`);
      t.equal((await sharp(data).metadata()).orientation ?? 1, 1, `${metadata} ${format}`);
    }
});

t.test('keep keeps the profile of a picture that is turned and converted', async (t) => {
  const drawing = sharp(await drawn(120, 90, (x, y) => [x * 2, y * 2, 99]));
  const photo = await drawing.clone().withMetadata({ orientation: 6 }).jpeg().toBuffer();
  const deep = await drawing.clone().toColourspace('rgb16').withIccProfile('p3').png().toBuffer();
  const cases: [input: Uint8Array, steps: StepText[], encode: EncodeOptions][] = [
    [photo, [['greyscale']], { format: 'jpeg' }],
    [deep, [['rotate', { angle: 90 }]], { format: 'tiff', quality: 80 }],
  ];
  for (const [input, steps, encode] of cases) {
    const { icc } = await sharp(input).metadata();
    const { data } = await made(input, passOf(steps, { ...encode, metadata: 'keep' }));
    t.ok(icc, `the profile of the ${encode.format}'s input`);
    t.strictSame((await sharp(data).metadata()).icc, icc, `a ${encode.format}`);
  }
});
