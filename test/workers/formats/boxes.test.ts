// needs: nothing
import t from 'tap';
import { findIsoBox, isoBoxes, isoBrands } from '../../../workers/formats/boxes.ts';
import { ByteReader } from '../../../workers/formats/bytes.ts';
import { MAX_CONTAINER_PARTS } from '../../../workers/formats/parts.ts';
import { avifOf } from '../../imaging/images/files.ts';
import { image, imagesIn, needsImages } from '../../support/images.ts';
import { cutEverywhere, walked } from './walks.ts';

const corpus = needsImages(t);
const avifs = ['animated', 'modern', 'orientation', 'photos']
  .flatMap((folder) => (corpus.skip === false ? imagesIn(folder) : []))
  .filter((name) => name.endsWith('.avif'));
const boxes = (bytes: ByteReader) => isoBoxes(bytes);
const latin1 = (text: string) => Buffer.from(text, 'latin1');

t.test('boxes are told with their type and content', async (t) => {
  const file = latin1('\0\0\0\x0cfreeabcd\0\0\0\x08skip');
  t.same(walked(file, boxes), [
    { type: 'free', at: 0, start: 8, end: 12, next: 12, truncated: false },
    { type: 'skip', at: 12, start: 20, end: 20, next: 20, truncated: false },
  ]);
});

t.test('a length of 64 bits, and one that goes to the end', async (t) => {
  const file = latin1('\0\0\0\x01free\0\0\0\0\0\0\0\x12ab\0\0\0\0mdatrest');
  t.match(walked(file, boxes), [
    { type: 'free', start: 16, end: 18, truncated: false },
    { type: 'mdat', start: 26, end: 30, next: 30, truncated: false },
  ]);
});

t.test('boxes in boxes are found by their types, and end with what they lie in', async (t) => {
  const bytes = new ByteReader(avifOf(9, 7));
  const meta = findIsoBox(bytes, { start: 0, end: bytes.length }, 'meta');
  t.ok(meta);
  const inside = { start: (meta?.start ?? 0) + 4, end: meta?.end ?? 0 };
  t.match([...isoBoxes(bytes, inside)], [{ type: 'pitm' }, { type: 'iprp', next: bytes.length }]);
  t.match(findIsoBox(bytes, inside, 'iprp', 'ipco', 'ispe'), { type: 'ispe' });
  t.equal(findIsoBox(bytes, inside, 'iprp', 'none', 'ispe'), undefined);
  const [first] = isoBoxes(bytes, { start: 0, end: 16 });
  t.match(first, { type: 'ftyp', end: 16, truncated: true });
});

t.test('the boxes of real files fill them', corpus, async (t) => {
  t.ok(avifs.length > 5, `${avifs.length} files`);
  for (const name of avifs) {
    const file = image(name);
    const told = [...isoBoxes(new ByteReader(file))];
    t.equal(told[0]?.type, 'ftyp', name);
    t.match(told.at(-1), { next: file.length, truncated: false }, name);
    t.match(isoBrands(new ByteReader(file))[0], /^avi[fs]|mif1|msf1$/, name);
  }
});

t.test('a file cut anywhere tells the boxes that it has', async (t) => {
  t.equal(cutEverywhere(avifOf(9, 7), boxes), 2);
  t.equal(cutEverywhere(latin1('\0\0\0\x01free\0\0\0\0\0\0\0\x12ab\0\0\0\x0cskipabcd'), boxes), 2);
});

t.test('a box that claims more than there is ends with the file', async (t) => {
  t.match(walked(latin1('\xff\xff\xff\xffmdatabc'), boxes), [{ end: 11, next: 11, truncated: true }]);
  const long = latin1('\0\0\0\x01mdat\xff\xff\xff\xff\xff\xff\xff\xffabc');
  t.match(walked(long, boxes), [{ start: 16, end: 19, truncated: true }]);
});

t.test('a box that claims less than its head ends the walk', async (t) => {
  for (const size of ['\0\0\0\x02', '\0\0\0\x07'])
    t.match(walked(latin1(`\0\0\0\x08free${size}mdat\0\0\0\x08skip`), boxes), [{ type: 'free' }]);
  t.same(walked(latin1('\0\0\0\x01mdat\0\0\0\0\0\0\0\x0fabc'), boxes), []);
});

t.test('brands are read, the major one first, and not without end', async (t) => {
  t.same(isoBrands(new ByteReader(avifOf(9, 7))), ['avif', 'avif', 'mif1']);
  t.same(isoBrands(new ByteReader(latin1('\0\0\0\x08free'))), []);
  t.same(isoBrands(new ByteReader(latin1('\0\0\0\x0bftypavi'))), ['avi']);
  t.ok(isoBrands(new ByteReader(latin1(`\0\0\0\0ftyp${'mif1'.repeat(100_000)}`))).length < 100);
});

t.test('more boxes than any file has end the walk', async (t) => {
  t.equal(walked(latin1('\0\0\0\x08free'.repeat(MAX_CONTAINER_PARTS)), boxes).length, MAX_CONTAINER_PARTS);
  t.equal(walked(latin1('\0\0\0\x08free'.repeat(MAX_CONTAINER_PARTS + 1)), boxes), 'too many parts');
});
