// needs: nothing
import t from 'tap';
import { ByteReader } from '../../../workers/formats/bytes.ts';
import { MAX_CONTAINER_PARTS } from '../../../workers/formats/parts.ts';
import { webpChunks } from '../../../workers/formats/riff.ts';
import { webpOf } from '../../imaging/images/files.ts';
import { image, imagesIn, needsImages } from '../../support/images.ts';
import { cutEverywhere, walked } from './walks.ts';

const corpus = needsImages(t);
const webpFiles = ['animated', 'modern', 'photos', 'orientation']
  .flatMap((folder) => (corpus.skip === false ? imagesIn(folder) : []))
  .filter((name) => name.endsWith('.webp'));

t.test('chunks are told with their type and content', async (t) => {
  t.same(walked(webpOf(3, 2, 2), webpChunks), [
    { type: 'VP8X', at: 12, start: 20, end: 30, next: 30, truncated: false },
    { type: 'ANMF', at: 30, start: 38, end: 38, next: 38, truncated: false },
    { type: 'ANMF', at: 38, start: 46, end: 46, next: 46, truncated: false },
  ]);
});

t.test('a chunk of odd length is padded', async (t) => {
  const odd = Buffer.concat([webpOf(3, 2), Buffer.from('EXIF\x03\0\0\0abc\0XMP \0\0\0\0', 'latin1')]);
  const [, , exif, xmp] = [...webpChunks(new ByteReader(odd))];
  t.match(exif, { type: 'EXIF', start: 46, end: 49, next: 50 });
  t.match(xmp, { type: 'XMP ', at: 50, truncated: false });
});

t.test('the chunks of real files fill them', corpus, async (t) => {
  t.ok(webpFiles.length > 4, `${webpFiles.length} files`);
  for (const name of webpFiles) {
    const file = image(name);
    const chunks = [...webpChunks(new ByteReader(file))];
    t.match(chunks[0]?.type, /^VP8[ LX]$/, name);
    t.match(chunks.at(-1), { next: file.length, truncated: false }, name);
  }
});

t.test('a file cut anywhere tells the chunks that it has', async (t) => {
  t.equal(cutEverywhere(webpOf(3, 2, 3), webpChunks), 4);
});

t.test('a real one too', corpus, async (t) => {
  const small = webpFiles.map(image).filter(({ length }) => length < 12_000);
  t.ok(small.length > 0);
  for (const file of small) t.ok(cutEverywhere(file, webpChunks) > 0, `${file.length} bytes`);
});

t.test('a chunk that claims more than there is ends with the file', async (t) => {
  const file = webpOf(3, 2, 2);
  file.writeUInt32LE(0xffffffff, 34);
  t.match(walked(file, webpChunks), [{ type: 'VP8X' }, { type: 'ANMF', end: 46, next: 46, truncated: true }]);
});

t.test('a file of another form has no chunks', async (t) => {
  for (const text of ['', 'RIFF', 'RIFF\0\0\0\0WAVEfmt \0\0\0\0', 'RIFX\0\0\0\0WEBPVP8 \0\0\0\0'])
    t.same(walked(Buffer.from(text, 'latin1'), webpChunks), [], JSON.stringify(text));
});

t.test('more chunks than any file has end the walk', async (t) => {
  const chunks = (count: number) => webpOf(1, 1, count - 1);
  t.equal(walked(chunks(MAX_CONTAINER_PARTS), webpChunks).length, MAX_CONTAINER_PARTS);
  t.equal(walked(chunks(MAX_CONTAINER_PARTS + 1), webpChunks), 'too many parts');
});
