// needs: nothing
import t from 'tap';
import { ByteReader } from '../../../workers/formats/bytes.ts';
import { gifBlocks } from '../../../workers/formats/gif.ts';
import { MAX_CONTAINER_PARTS } from '../../../workers/formats/parts.ts';
import { gifOf } from '../../imaging/images/files.ts';
import { image, imagesIn, needsImages } from '../../support/images.ts';
import { cutEverywhere, walked } from './walks.ts';

const corpus = needsImages(t);
const gifs = (corpus.skip === false ? imagesIn('animated') : []).filter((name) => name.endsWith('.gif'));

/** A head without a colour table, and what follows. */
const gif = (...blocks: string[]) => Buffer.from(`GIF89a\x09\0\x07\0\0\0\0${blocks.join('')}`, 'latin1');
const CONTROL = '!\xf9\x04\x01\0\0\0\0';

t.test('blocks are told with their kind and content, up to the trailer', async (t) => {
  t.same(walked(Buffer.concat([gifOf(3, 2), Buffer.from('a rest')]), gifBlocks), [
    { kind: 'image', at: 13, start: 23, end: 27, next: 27, truncated: false },
    { kind: 'trailer', at: 27, start: 28, end: 28, next: 28, truncated: false },
  ]);
  t.match(walked(gif(CONTROL, '!\xff\x03abc\x01d\0', ';'), gifBlocks), [
    { kind: 'extension', label: 0xf9, at: 13, start: 15, next: 21 },
    { kind: 'extension', label: 0xff, at: 21, start: 23, next: 30 },
    { kind: 'trailer' },
  ]);
});

t.test('colour tables are no blocks', async (t) => {
  const file = Buffer.concat([gif(), Buffer.from(';'.repeat(12)), gif(';').subarray(13)]);
  file[10] = 0x81;
  t.match(walked(file, gifBlocks), [{ kind: 'trailer', at: 25 }]);
  const local = gif(',\0\0\0\0\x03\0\x02\0\x80', ';'.repeat(6), '\x02\x01D\0;');
  t.match(walked(local, gifBlocks), [
    { kind: 'image', at: 13, next: 33 },
    { kind: 'trailer', at: 33 },
  ]);
});

t.test('real files end with their trailer', corpus, async (t) => {
  t.ok(gifs.length > 2, `${gifs.length} files`);
  for (const name of gifs) t.equal([...gifBlocks(new ByteReader(image(name)))].at(-1)?.kind, 'trailer', name);
});

t.test('a file cut anywhere tells the blocks that it has', async (t) => {
  t.equal(cutEverywhere(gifOf(3, 2, 3), gifBlocks), 4);
  t.equal(cutEverywhere(gif(CONTROL, '!\xfe\x03abc\x01d\0', ';'), gifBlocks), 3);
});

t.test('a real one too', corpus, async (t) => {
  const small = gifs.map(image).filter(({ length }) => length < 12_000);
  t.ok(small.length > 0);
  for (const file of small) t.ok(cutEverywhere(file, gifBlocks) > 0, `${file.length} bytes`);
});

t.test('a list of sub-blocks without end is truncated', async (t) => {
  const file = gif(CONTROL, `!\xfe${'\x01a'.repeat(1_000)}`);
  t.match(walked(file, gifBlocks), [{ label: 0xf9 }, { label: 0xfe, next: file.length, truncated: true }]);
  t.match(walked(gif('!\xfe\xffshort'), gifBlocks), [{ label: 0xfe, truncated: true }]);
});

t.test('a byte that begins no block ends the walk', async (t) => {
  t.match(walked(gif(CONTROL, '\0;'), gifBlocks), [{ kind: 'extension', next: 21 }]);
  t.same(walked(gif('\0', CONTROL), gifBlocks), []);
});

t.test('what is no GIF has no blocks', async (t) => {
  for (const text of ['', 'GIF89a', 'GIF97a\0\0\0\0\0\0\0;', 'JIF89a\0\0\0\0\0\0\0;'])
    t.same(walked(Buffer.from(text, 'latin1'), gifBlocks), [], JSON.stringify(text));
});

t.test('more blocks than any file has end the walk', async (t) => {
  t.equal(walked(gif('!\xfe\0'.repeat(MAX_CONTAINER_PARTS)), gifBlocks).length, MAX_CONTAINER_PARTS);
  t.equal(walked(gif('!\xfe\0'.repeat(MAX_CONTAINER_PARTS + 1)), gifBlocks), 'too many parts');
});
