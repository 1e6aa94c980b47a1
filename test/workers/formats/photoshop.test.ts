// needs: nothing
import t from 'tap';
import { ByteReader } from '../../../workers/formats/bytes.ts';
import { buildPhotoshopBlock, iptcDatasets, photoshopResources } from '../../../workers/formats/photoshop.ts';
import { carriedIptc } from '../../../workers/image/metadata/iptc.ts';
import { cutEverywhere, walked } from './walks.ts';

/** A by-line, and a notice in the long form. */
const BY_LINE = Buffer.from('\x1c\x02\x50\0\x03abc', 'latin1');
const NOTICE = Buffer.from('\x1c\x02\x74\x80\x04\0\0\0\x02de', 'latin1');
const IPTC = Buffer.concat([BY_LINE, NOTICE]);

t.test('resources are told with their numbers, and names and contents are padded', async (t) => {
  const named = Buffer.from('8BIM\x04\x09\x02ab\0\0\0\0\x03xyz\0', 'latin1');
  const block = Buffer.concat([buildPhotoshopBlock(0x0404, IPTC), named]);
  const [iptc, other] = [...photoshopResources(new ByteReader(block))];
  t.match(iptc, { number: 0x0404, at: 14, start: 26, end: 26 + IPTC.length });
  t.equal(block.toString('latin1', other?.start, other?.end), 'xyz');
  t.match(other, { number: 0x0409, next: block.length, truncated: false });
  t.same([...photoshopResources(new ByteReader(IPTC))], [], 'no block');
});

t.test('datasets are told with their record and number, in both forms of their length', async (t) => {
  t.match(walked(IPTC, iptcDatasets), [
    { record: 2, number: 80, at: 0, start: 5, end: 8 },
    { record: 2, number: 116, at: 8, start: 17, end: 19, next: 19 },
  ]);
});

t.test('blocks cut anywhere tell what they have', async (t) => {
  t.equal(cutEverywhere(buildPhotoshopBlock(0x0404, IPTC), photoshopResources), 1);
  t.equal(cutEverywhere(IPTC, iptcDatasets), 2);
});

t.test('of IPTC the texts are carried, and no preview', async (t) => {
  const preview = Buffer.from('\x1c\x02\xca\0\x04\xff\xd8\xff\xe0', 'latin1');
  const disguised = Buffer.from('\x1c\x02\x78\0\x04\xff\xd8\xff\xe0', 'latin1');
  const object = Buffer.from('\x1c\x08\x0a\0\x02ab', 'latin1');
  const all = Buffer.concat([BY_LINE, preview, disguised, object, NOTICE]);
  t.same(carriedIptc(all), IPTC, 'a bare list');
  t.same(carriedIptc(buildPhotoshopBlock(0x0404, all)), IPTC, 'in a block');
  t.equal(carriedIptc(buildPhotoshopBlock(1036, all)), undefined, 'a thumbnail alone');
  t.equal(carriedIptc(Buffer.from('no datasets')), undefined);
});
