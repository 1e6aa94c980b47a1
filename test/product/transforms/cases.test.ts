// needs: server
import t from 'tap';
import { caseFile, needsCases } from '../../support/cases.ts';
import { openCalls, pictureOf, type Query } from './calls.ts';

const cases = needsCases(t);
const calls = await openCalls(t);

interface Row {
  file: string;
  query: Query;
  size: [width: number, height: number];
  /** Colours at points of the result. */
  colours: [x: number, y: number, rgba: number[]][];
  /** What a channel may differ. */
  within?: number;
}

const PNG = { op: 'convert', format: 'png' };
const PREMULTIPLIED: Row['colours'] = [[4, 4, [255, 0, 0, 100]]];

const ROWS: Row[] = [
  ...[
    { op: 'resize', width: 32 },
    { op: 'convert', format: 'webp', lossless: true },
    { op: 'convert', format: 'jpeg' },
  ].map(
    (query): Row => ({
      file: 'png-gamma-linear.png',
      query,
      size: query.op === 'resize' ? [32, 32] : [64, 64],
      colours: [[9, 9, [188, 137, 229, 255]]],
      within: 2,
    }),
  ),
  { file: 'avif-premultiplied.avif', query: PNG, size: [40, 40], colours: PREMULTIPLIED },
  {
    file: 'avif-premultiplied.avif',
    query: { op: 'flip', axis: 'both', format: 'png' },
    size: [40, 40],
    colours: PREMULTIPLIED,
  },
  ...[PNG, { op: 'flip', axis: 'both', format: 'png' }].map(
    (query): Row => ({
      file: 'tiff-five-samples.tif',
      query,
      size: [8, 8],
      colours: [[4, 4, [199, 99, 49, 128]]],
    }),
  ),
  {
    file: 'tiff-ycbcr-deflate.tif',
    query: PNG,
    size: [32, 16],
    colours: [
      [2, 8, [231, 40, 30, 255]],
      [29, 8, [30, 60, 220, 255]],
    ],
  },
  { file: 'tiff-lab-8.tif', query: PNG, size: [16, 16], colours: [[8, 8, [255, 0, 1, 255]]], within: 12 },
  { file: 'png-12000x300.png', query: { op: 'thumbnail', size: 512 }, size: [512, 512], colours: [] },
  {
    file: 'png-12000x300.png',
    query: { op: 'resize', width: 512, height: 512, fit: 'cover', enlarge: true },
    size: [512, 512],
    colours: [],
  },
];

t.test('inputs that users send show the colours and have the size that they ought to', cases, async (t) => {
  for (const { file, query, size, colours, within = 1 } of ROWS) {
    const name = `${file} ${JSON.stringify(query)}`;
    const type = `image/${file.replace(/-.*/, '')}`;
    const picture = await pictureOf(await calls.transform(query, caseFile(file), type));
    t.same([picture.width, picture.height], size, name);
    for (const [x, y, rgba] of colours) {
      const found = picture.at(x, y);
      const isNear = rgba.every((value, channel) => Math.abs(value - (found[channel] ?? 0)) <= within);
      t.ok(isNear, `${name} at ${x}, ${y}: ${found}`);
    }
  }
});

t.test('the facts of a file are those of the colours that it shows', cases, async (t) => {
  const factsOf = async (file: string, type: string) =>
    (await calls.metadata(caseFile(file), type)).json.data.image;
  t.match(await factsOf('png-gamma-linear.png', 'image/png'), {
    averageColor: '#bc89e5',
    width: 64,
    height: 64,
  });
  t.match(await factsOf('tiff-five-samples.tif', 'image/tiff'), {
    averageColor: '#c76432',
    hasAlpha: true,
    bitDepth: 8,
  });
  t.match(await factsOf('tiff-lab-8.tif', 'image/tiff'), { bitDepth: 8, width: 16 });
  const premultiplied = await factsOf('avif-premultiplied.avif', 'image/avif');
  t.match(premultiplied, {
    averageColor: '#ff0000',
    dominantColor: '#ff0000',
    format: 'avif',
    hasAlpha: true,
  });
});
