// needs: nothing
import { crc32 } from 'node:zlib';
import sharp from 'sharp';
import t from 'tap';
import { readImageHeader } from '../../../src/imaging/images/header/header.ts';
import { ByteReader } from '../../../workers/formats/bytes.ts';
import { readAvifColours } from '../../../workers/formats/heif.ts';
import { describeImage } from '../../../workers/image/metadata/metadata.ts';
import type { EncodeOptions } from '../../../workers/protocol.ts';
import { image, needsImages } from '../../support/images.ts';
import { made, passOf } from './passes.ts';

const corpus = needsImages(t);

const COLOURS = [
  [255, 0, 0],
  [0, 255, 0],
  [200, 100, 50],
  [128, 128, 128],
  [30, 60, 90],
];

/** A row of colours whose meaning the file names by code points. */
async function png(primaries: number, transfer: number): Promise<Uint8Array> {
  const raw = { width: COLOURS.length, height: 1, channels: 3 } as const;
  const file = await sharp(Uint8Array.from(COLOURS.flat()), { raw }).png().toBuffer();
  const body = Buffer.from([...Buffer.from('cICP'), primaries, transfer, 0, 1]);
  const chunk = Buffer.alloc(16);
  chunk.writeUInt32BE(4);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), 12);
  return Buffer.concat([file.subarray(0, 33), chunk, file.subarray(33)]);
}

/** The same as an AVIF, ten pixels per colour. */
async function avif(primaries: number): Promise<Uint8Array> {
  const raw = { width: COLOURS.length, height: 1, channels: 3 } as const;
  const row = await sharp(Uint8Array.from(COLOURS.flat()), { raw })
    .resize({ width: COLOURS.length * 10, height: 10, kernel: 'nearest', fit: 'fill' })
    .avif({ lossless: true })
    .toBuffer();
  row.writeUInt16BE(primaries, row.indexOf('nclx') + 4);
  return row;
}

async function passed(file: Uint8Array, encode: EncodeOptions) {
  return made(file, passOf([], encode));
}

async function pixelsIn(file: Uint8Array, every = 1, options = {}): Promise<number[][]> {
  const { data, info } = await sharp(file, options).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const middle = (info.height >> 1) * info.width + (every >> 1);
  return COLOURS.map((_, index) => [...data.subarray((middle + index * every) * 3).subarray(0, 3)]);
}

function farthest(colours: number[][], expected: number[][]): number {
  return Math.max(
    ...colours.flatMap((colour, row) => colour.map((v, at) => Math.abs(v - (expected[row]?.[at] ?? 0)))),
  );
}

/** What colour-science 0.4.6 makes of them in sRGB (RGB_to_RGB with Bradford, cut to 0 to 1). */
const IN_SRGB: Record<number, number[][]> = {
  12: [
    [255, 0, 0],
    [0, 255, 0],
    [215, 93, 31],
    [128, 128, 128],
    [17, 61, 93],
  ],
  9: [
    [255, 0, 0],
    [0, 255, 0],
    [241, 76, 29],
    [128, 128, 128],
    [0, 62, 93],
  ],
  // The following ones are computed by numpy in the same way.
  4: [
    [255, 0, 0],
    [0, 250, 0],
    [232, 93, 30],
    [128, 128, 128],
    [0, 63, 92],
  ],
  6: [
    [248, 36, 0],
    [63, 251, 0],
    [196, 102, 49],
    [128, 128, 128],
    [33, 60, 90],
  ],
  11: [
    [255, 0, 0],
    [0, 255, 0],
    [211, 93, 32],
    [128, 128, 128],
    [22, 61, 93],
  ],
  22: [
    [255, 38, 0],
    [0, 249, 0],
    [202, 102, 49],
    [128, 128, 128],
    [29, 61, 90],
  ],
};

t.test('colours that are named by code points become sRGB', async (t) => {
  for (const [primaries, expected] of Object.entries(IN_SRGB)) {
    for (const format of ['png', 'webp'] as const) {
      const { data } = await passed(await png(Number(primaries), 13), { format, lossless: true });
      t.ok(farthest(await pixelsIn(data), expected) <= 1, `PNG with primaries ${primaries} to ${format}`);
    }
    const { data } = await passed(await avif(Number(primaries)), { format: 'png' });
    t.ok(farthest(await pixelsIn(data, 10), expected) <= 3, `AVIF with primaries ${primaries}`);
  }
  const { data } = await passed(await png(1, 13), { format: 'png' });
  t.equal(farthest(await pixelsIn(data), COLOURS), 0, 'those of sRGB stay');
});

t.test('kept with the metadata, they stay as they are and carry a profile', async (t) => {
  const kept = await passed(await png(12, 13), { metadata: 'keep' });
  t.equal(farthest(await pixelsIn(kept.data, 1, { ignoreIcc: true }), COLOURS), 0);
  t.ok(farthest(await pixelsIn(kept.data), IN_SRGB[12] ?? []) <= 1, 'and mean the same to whoever reads it');
  const moved = await passed(await avif(12), { metadata: 'keep' });
  t.equal(moved.contentType, 'image/avif', 'an AVIF stays one');
  t.match((await sharp(moved.data).metadata()).icc?.toString('latin1'), /Display P3/);
});

t.test(
  'PQ and HLG are shown as bright as a screen can: up to 90 cd/m² as they are, the rest below white',
  async (t) => {
    // ST 2084: 128 of 255 is 94.07 cd/m², so 46.3 % of white at 203, which sRGB writes as 181; 30, 60 and 90 are 0.5,
    // 4.2 and 19.1.
    const grey = (await pixelsIn((await passed(await png(1, 16), { format: 'png' })).data))[3];
    t.ok(farthest([grey ?? []], [[181, 181, 181]]) <= 2, `${grey}`);
    const dark = (await pixelsIn((await passed(await png(1, 16), { format: 'png' })).data))[4] ?? [];
    t.ok(farthest([dark], [[8, 39, 88]]) <= 2, `${dark}`);
    const hdr = await passed(await png(9, 16), { format: 'png', metadata: 'keep' });
    t.notMatch((await sharp(hdr.data).metadata()).icc?.toString('latin1') ?? '', /tone-mapped/);
  },
);

t.test('what a file of HDR photographs is measured as is what it is shown as', corpus, async (t) => {
  const file = image('modern/cosmos1650_yuv444_10bpc_p3pq.avif');
  t.match(readAvifColours(new ByteReader(file)), { codePoints: { primaries: 12, transfer: 16 } });
  const shown = await sharp((await passed(file, { format: 'png' })).data).stats();
  const described = await describeImage(file);
  if (described.kind === 'failure') return t.fail(described.message);
  const hex = shown.channels.slice(0, 3).map(({ mean }) => Math.round(mean));
  const told = described.image.averageColor.match(/[0-9a-f]{2}/g)?.map((pair) => Number.parseInt(pair, 16));
  t.ok(farthest([told ?? []], [hex]) <= 2, `${told} for ${hex}`);
  t.match(described.image, { format: 'avif', bitDepth: 10 });
});

t.test('tiles of a grid are no pictures', corpus, async (t) => {
  const file = image('modern/sofa_grid1x5_420.avif');
  t.match(readImageHeader(file), { frames: 1, pixels: 1024 * 770 });
  const described = await describeImage(file, undefined, { pictures: 1 });
  t.match(described, { image: { frames: 1, width: 1024, height: 770 } });
});

t.test('an animated AVIF is read as the still picture that stands for it', corpus, async (t) => {
  const file = image('animated/colors-animated.avif');
  const { data, width, height } = await made(file, passOf([], { format: 'png' }), { pictures: 1 });
  // avifdec 0.11.1: transparent black, 128 of 255 opaque.
  const { channels } = await sharp(data).stats();
  t.same([width, height, ...channels.map(({ mean }) => Math.round(mean))], [150, 150, 0, 0, 0, 128]);
  const described = await describeImage(file, undefined, { pictures: 1 });
  t.match(described, { image: { frames: 1, format: 'avif', bytes: file.byteLength } });
});
