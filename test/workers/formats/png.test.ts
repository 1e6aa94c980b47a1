// needs: nothing
import { crc32 } from 'node:zlib';
import t from 'tap';
import { ByteReader } from '../../../workers/formats/bytes.ts';
import { MAX_CONTAINER_PARTS } from '../../../workers/formats/parts.ts';
import { buildPngChunk, pngChunks } from '../../../workers/formats/png.ts';
import { pngOf } from '../../imaging/images/files.ts';
import { image, imagesIn, needsImages } from '../../support/images.ts';
import { cutEverywhere, walked } from './walks.ts';

const corpus = needsImages(t);
const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

const typesOf = (file: Uint8Array) => [...pngChunks(new ByteReader(file))].map(({ type }) => type);

t.test('chunks are told with their type and content, up to IEND', async (t) => {
  const file = Buffer.concat([pngOf(3, 2), Buffer.from('a rest behind the end')]);
  const chunks = [...pngChunks(new ByteReader(file))];
  t.same(chunks, [
    { type: 'IHDR', at: 8, start: 16, end: 29, next: 33, truncated: false },
    { type: 'IEND', at: 33, start: 41, end: 41, next: 45, truncated: false },
  ]);
});

t.test('the chunks of a real file lie side by side, with the checksums that they say', corpus, async (t) => {
  for (const name of imagesIn('pngsuite').filter((name) => /\/[^x]\w+\.png$/.test(name))) {
    const file = Buffer.from(image(name));
    const chunks = [...pngChunks(new ByteReader(file))];
    t.equal(chunks.at(-1)?.type, 'IEND', name);
    for (const { at, end } of chunks)
      t.equal(crc32(file.subarray(at + 4, end)), file.readUInt32BE(end), name);
  }
});

t.test('a file cut anywhere tells the chunks that it has', corpus, async (t) => {
  for (const file of [pngOf(3, 2), image('pngsuite/basn3p02.png'), image('pngsuite/ctzn0g04.png')])
    t.ok(cutEverywhere(file, pngChunks) > 1);
});

t.test('a chunk that claims more than there is ends with the file', async (t) => {
  const file = pngOf(3, 2);
  file.writeUInt32BE(0xffffffff, 33);
  t.match(walked(file, pngChunks), [{ type: 'IHDR' }, { type: 'IEND', end: 45, next: 45, truncated: true }]);
});

t.test('what is no PNG has no chunks', async (t) => {
  for (const text of ['', '\x89PNG', 'GIF89a', `x${SIGNATURE.toString('latin1')}`])
    t.same(typesOf(Buffer.from(text, 'latin1')), [], JSON.stringify(text));
});

t.test('more chunks than any file has end the walk', async (t) => {
  const chunks = (count: number) => Buffer.concat([SIGNATURE, Buffer.alloc(count * 12)]);
  t.equal(typesOf(chunks(MAX_CONTAINER_PARTS)).length, MAX_CONTAINER_PARTS);
  t.equal(walked(chunks(MAX_CONTAINER_PARTS + 1), pngChunks), 'too many parts');
});

t.test('a chunk that is written is read again', async (t) => {
  const content = Buffer.from('Title\0a text');
  const file = Buffer.concat([SIGNATURE, buildPngChunk('tEXt', content)]);
  const [chunk] = pngChunks(new ByteReader(file));
  t.match(chunk, { type: 'tEXt', next: file.length, truncated: false });
  t.same(file.subarray(chunk?.start, chunk?.end), content);
  t.equal(file.readUInt32BE(file.length - 4), crc32(file.subarray(12, -4)));
});
