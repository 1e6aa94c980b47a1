// needs: nothing
import sharp from 'sharp';
import t from 'tap';
import { ByteReader } from '../../../workers/formats/bytes.ts';
import { buildJpegSegment, jpegSegments } from '../../../workers/formats/jpeg.ts';
import { MAX_CONTAINER_PARTS } from '../../../workers/formats/parts.ts';
import { jpegOf } from '../../imaging/images/files.ts';
import { image, imagesIn, needsImages } from '../../support/images.ts';
import { cutEverywhere, walked } from './walks.ts';

const corpus = needsImages(t);
const jpegs = ['orientation', 'photos']
  .flatMap((folder) => (corpus.skip === false ? imagesIn(folder) : []))
  .filter((name) => /\.jpe?g$/.test(name));
const jpeg = (...segments: (string | Buffer)[]) =>
  Buffer.concat(
    ['\xff\xd8', ...segments].map((one) => (typeof one === 'string' ? Buffer.from(one, 'latin1') : one)),
  );

t.test('segments are told with their marker and content, up to EOI', async (t) => {
  t.same(walked(Buffer.concat([jpegOf(3, 2), Buffer.from('a rest')]), jpegSegments), [
    { marker: 0xc0, at: 2, start: 6, end: 21, next: 21, truncated: false },
    { marker: 0xda, at: 21, start: 25, end: 35, next: 35, truncated: false },
    { marker: 0xd9, at: 35, start: 37, end: 37, next: 37, truncated: false },
  ]);
});

t.test('the data of a scan is passed over, with its stuffing and restarts', async (t) => {
  const scan = buildJpegSegment(0xda, Buffer.from('scan'));
  const file = jpeg(
    scan,
    'data\xff\0data\xff\xd0data\xff\xd7',
    buildJpegSegment(0xc4, Buffer.from('table')),
    '\xff\xd9',
  );
  t.match(walked(file, jpegSegments), [
    { marker: 0xda, next: 2 + scan.length },
    { marker: 0xc4, at: 2 + scan.length + 18 },
    { marker: 0xd9, next: file.length },
  ]);
});

t.test('the data of a scan is not searched before it is asked for', async (t) => {
  class Watched extends ByteReader {
    furthest = 0;

    override indexOf(value: number, from: number): number {
      const found = super.indexOf(value, from);
      this.furthest = Math.max(this.furthest, found);
      return found;
    }
  }
  const scan = buildJpegSegment(0xda, Buffer.from('scan'));
  const bytes = new Watched(jpeg(scan, Buffer.alloc(100_000), '\xff\xd9'));
  for (const { marker } of jpegSegments(bytes)) if (marker === 0xda) break;
  t.equal(bytes.furthest, 2);
});

t.test('garbage and fill bytes before a segment are passed over, and seen by its place', async (t) => {
  const comment = buildJpegSegment(0xfe, Buffer.from('words'));
  const [first, second, third] = [
    ...jpegSegments(new ByteReader(jpeg(comment, 'rest', comment, '\xff\xff', comment))),
  ];
  t.match(first, { marker: 0xfe, at: 2, next: 11 });
  t.match(second, { marker: 0xfe, at: 15, next: 24 });
  t.match(third, { marker: 0xfe, at: 26, next: 35 });
});

t.test('a real file ends with EOI', corpus, async (t) => {
  t.ok(jpegs.length > 10, `${jpegs.length} files`);
  for (const name of jpegs) {
    const file = image(name);
    const segments = [...jpegSegments(new ByteReader(file))];
    t.equal(segments.at(-1)?.marker, 0xd9, name);
    for (const { at, marker } of segments) t.same([...file.subarray(at, at + 2)], [0xff, marker], name);
  }
});

t.test('a file cut anywhere tells the segments that it has', async (t) => {
  t.equal(cutEverywhere(jpegOf(3, 2), jpegSegments), 3);
  t.equal(
    cutEverywhere(jpeg(buildJpegSegment(0xe1, Buffer.alloc(300)), '\xff\x01', '\xff\xd9'), jpegSegments),
    3,
  );
});

t.test('a real one too, of one scan and of several', async (t) => {
  const create = { width: 40, height: 30, channels: 3, background: '#369' } as const;
  for (const progressive of [false, true]) {
    const file = await sharp({ create }).withMetadata().jpeg({ progressive }).toBuffer();
    t.ok(cutEverywhere(file, jpegSegments) > 8, `${file.length} bytes`);
  }
});

t.test(
  'a length that is too large ends with the file, and one that is too small counts itself',
  async (t) => {
    t.match(walked(jpeg('\xff\xe1\xff\xffabc'), jpegSegments), [
      { start: 6, end: 9, next: 9, truncated: true },
    ]);
    t.match(walked(jpeg('\xff\xe1\0\0\xff\xd9'), jpegSegments), [
      { start: 6, end: 6 },
      { marker: 0xd9, at: 6 },
    ]);
  },
);

t.test('what is no JPEG has no segments', async (t) => {
  for (const text of ['', '\xff', '\xff\xd9', 'GIF89a', '\xff\xd8', '\xff\xd8\xff', '\xff\xd8\xff\xff\xff'])
    t.same(walked(Buffer.from(text, 'latin1'), jpegSegments), [], JSON.stringify(text));
});

t.test('more segments than any file has end the walk', async (t) => {
  t.equal(
    walked(jpeg('\xff\xfe\0\x02'.repeat(MAX_CONTAINER_PARTS)), jpegSegments).length,
    MAX_CONTAINER_PARTS,
  );
  t.equal(walked(jpeg('\xff\xfe\0\x02'.repeat(MAX_CONTAINER_PARTS + 1)), jpegSegments), 'too many parts');
});
