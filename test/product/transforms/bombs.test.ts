// needs: server, alone
import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import t from 'tap';
import { avifOf, gifOf, jpegOf, pngOf as pngHeaderOf, tiffOf, webpOf } from '../../imaging/images/files.ts';
import { openCalls, pictureOf, pngOf, refusalOf } from './calls.ts';

const calls = await openCalls(t);
const MAX_PIXELS = 50_000_000;
const MEGABYTE = 1024 * 1024;

/** 14041 × 3561 is 50,000,001. */
const ABOVE: [format: string, file: Uint8Array][] = [
  ['png', pngHeaderOf(14_041, 3_561)],
  ['jpeg', jpegOf(14_041, 3_561)],
  ['webp', webpOf(14_041, 3_561)],
  ['gif', gifOf(14_041, 3_561)],
  ['avif', avifOf(14_041, 3_561)],
  ['tiff', tiffOf({ width: 14_041, height: 3_561 })],
  ['gif', gifOf(14_041, 1_187, 3)],
  ['webp', webpOf(14_041, 1_187, 3)],
];

t.test('50,000,001 pixels are refused by the header alone, frames counted together', async (t) => {
  for (const [format, file] of ABOVE) {
    const type = `image/${format}`;
    for (const answer of [
      await calls.transform({ op: 'resize', width: 8 }, file, type),
      await calls.metadata(file, type),
    ]) {
      const details = { limit: MAX_PIXELS, received: MAX_PIXELS + 1 };
      t.match(refusalOf(answer), { status: 400, code: 'unsupported_format', details }, format);
    }
  }
});

t.test('50,000,000 pixels are worked on', async (t) => {
  const full = sharp({
    create: { width: 10_000, height: 5_000, channels: 3, background: '#306090' },
    limitInputPixels: false,
  });
  const files: [format: string, file: Buffer][] = [
    ['png', await full.clone().png({ compressionLevel: 1 }).toBuffer()],
    ['jpeg', await full.clone().jpeg().toBuffer()],
    ['webp', await full.clone().webp({ effort: 0 }).toBuffer()],
    ['gif', await full.clone().gif({ effort: 1 }).toBuffer()],
    ['tiff', await full.clone().tiff({ compression: 'lzw' }).toBuffer()],
  ];
  for (const [format, file] of files) {
    const { at, width, height } = await pictureOf(
      await calls.transform({ op: 'resize', width: 20, format: 'png' }, file, `image/${format}`),
    );
    t.same([width, height], [20, 10], format);
    t.ok(
      at(10, 5).every((value, channel) => Math.abs(value - ([0x30, 0x60, 0x90, 255][channel] ?? 0)) <= 6),
      `${format}: ${at(10, 5)}`,
    );
  }
  // Encoding so large an AVIF takes too long for a test: that its header is let through is seen by what is said of the
  // rest.
  const avif = refusalOf(
    await calls.transform({ op: 'resize', width: 8 }, avifOf(10_000, 5_000), 'image/avif'),
  );
  t.match(avif, { status: 400, code: 'unsupported_format', details: undefined });
});

function chunkOf(type: string, data: Uint8Array): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(named.length + 8);
  framed.writeUInt32BE(data.length, 0);
  framed.set(named, 4);
  framed.writeUInt32BE(crc32(named), named.length + 4);
  return framed;
}

t.test('compressed texts of a PNG cost nothing, however large they would be', async (t) => {
  const png = Buffer.from(
    await pngOf(sharp({ create: { width: 9, height: 9, channels: 3, background: '#123456' } })),
  );
  const bomb = Buffer.concat([
    Buffer.from('Comment\0\0', 'latin1'),
    deflateSync(Buffer.alloc(25 * MEGABYTE), { level: 9 }),
  ]);
  const header = png.subarray(0, 33);
  const file = Buffer.concat([
    header,
    ...Array.from({ length: 10 }, () => chunkOf('zTXt', bomb)),
    png.subarray(33),
  ]);
  t.ok(file.length < 300 * 1024, `${file.length} bytes for 250 MB`);
  await calls.transform({ op: 'flip' }, png);
  const before = process.memoryUsage.rss();
  for (const answer of [
    await calls.transform({ op: 'flip' }, file),
    await calls.transform({ op: 'flip', metadata: 'keep' }, file),
    await calls.metadata(file),
  ]) {
    t.equal(answer.status, 200);
    const grownBytes = process.memoryUsage.rss() - before;
    t.ok(grownBytes < 100 * MEGABYTE, `${Math.round(grownBytes / MEGABYTE)} MB more`);
  }
});

t.test('a small picture cannot be made into one that is too large', async (t) => {
  const tiny = await pngOf(sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } }));
  for (const [query, param] of [
    [{ op: 'resize', width: 16_384, height: 16_384, fit: 'fill', enlarge: true }, 'width'],
    [{ op: 'resize', width: 4_000, dpr: 4, enlarge: true }, 'width'],
    [{ op: 'pad', all: 8_192 }, 'all'],
    [{ op: 'pad', left: 8_192, right: 8_192, top: 8_192, bottom: 8_192 }, 'top'],
  ] as const) {
    const answer = await calls.transform(query, tiny);
    t.match(refusalOf(answer), { status: 400, code: 'invalid_param', param }, JSON.stringify(query));
  }
});
