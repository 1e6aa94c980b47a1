// needs: pixels
import sharp from 'sharp';
import t from 'tap';
import { readImageHeader } from '../../../src/imaging/images/header/header.ts';
import type { InputHeader } from '../../../workers/protocol.ts';
import { image, imagesIn, needsImages } from '../../support/images.ts';
import { drawn, made, passOf, refused, run, type StepText } from './passes.ts';

const corpus = needsImages(t);
const dot = await drawn(8, 8, (x, y) => [x * 30, y * 30, 0]);
const thread = await drawn(2000, 1, (x) => [x % 256, 0, 0]);

const REFUSED: [StepText[], string, Uint8Array?][] = [
  [[['resize', { width: 16384, height: 16384, fit: 'fill', enlarge: true }]], 'steps[0].params.width'],
  [[['resize', { height: 9, enlarge: true }]], 'steps[0].params.height', thread],
  [[['resize', { width: 16384, height: 16384, fit: 'cover', enlarge: true }]], 'steps[0].params.width'],
  [[['extend', { left: 16384 }]], 'steps[0].params.left'],
  [[['extend', { top: 16384, left: 3 }]], 'steps[0].params.top'],
  [[['affine', { matrix: [10_000, 0, 0, 1] }]], 'steps[0].params.matrix'],
  ...[
    [0, 0, 0, 0],
    [1, 1, 1, 1],
    [0, 1, 0, 2],
    [1e-9, 0, 0, 1],
  ].map((matrix): [StepText[], string] => [[['affine', { matrix }]], 'steps[0].params.matrix']),
  [[['flip'], ['extract', { left: 8, top: 0, width: 1, height: 1 }]], 'steps[1].params.left'],
  [[['extract', { left: 0, top: 4, width: 8, height: 5 }]], 'steps[0].params.height'],
  [[['resize', {}]], 'steps[0].params.width'],
  [[['normalise', { lower: 50, upper: 20 }]], 'steps[0].params.lower'],
  [
    [
      [
        'recomb',
        {
          matrix: [
            [1, 0, 0],
            [0, 1, 0],
            [0, 0, 1, 1],
          ],
        },
      ],
    ],
    'steps[0].params.matrix',
  ],
  [[['convolve', { width: 3, height: 3, kernel: [1] }]], 'steps[0].params.kernel'],
  [[['extractChannel', { channel: 'alpha' }]], 'steps[0].params.channel'],
  [[['redact', { regions: [{ x: 9, y: 0, width: 1, height: 1 }] }]], 'steps[0].params.regions'],
  [[['tint', { color: 'no colour' }]], 'steps[0].params.color'],
  [[['nothing']], 'steps[0].operation'],
];

for (const [steps, param, input = dot] of REFUSED) {
  t.test(`${JSON.stringify(steps)} is refused on ${param}`, async (t) => {
    t.match(await refused(input, passOf(steps)), { code: 'invalid_param', param });
  });
}

t.test(
  'a rectangle past the edge is told in words that hold for crop as well, whose parameters are x and y',
  async (t) => {
    const wide = await refused(dot, passOf([['extract', { left: 4, top: 0, width: 5, height: 1 }]]));
    t.match(
      wide.message,
      'The rectangle reaches to pixel 9 from the left, but the picture has 8: make its width at most 4.',
    );
    const beside = await refused(dot, passOf([['extract', { left: 0, top: 8, width: 1, height: 1 }]]));
    t.match(beside.message, 'The rectangle begins at pixel 8 from the top, but the picture has 8.');
  },
);

t.test('what a format has no room for is refused before it is made', async (t) => {
  const steps: StepText[] = [['resize', { width: 16384, height: 1, fit: 'fill', enlarge: true }]];
  t.match(await refused(dot, passOf(steps, { format: 'webp' })), { code: 'invalid_param', param: 'format' });
  t.equal((await made(dot, passOf(steps, { format: 'png' }))).width, 16384);
});

t.test('a file of more than 50 megapixels is refused', async (t) => {
  const wide = await drawn(1, 1, () => [0, 0, 0]);
  const header = Buffer.from(wide);
  header.writeUInt32BE(16_000, 16);
  header.writeUInt32BE(16_000, 20);
  t.match(await refused(header, passOf([])), { code: 'unsupported_format' });
});

t.test('no refusal rests on the sender’s word about the header alone', corpus, async (t) => {
  const input = image('orientation/landscape_6.jpg');
  const header: InputHeader = {
    format: 'jpeg',
    width: 10,
    height: 10,
    orientation: 6,
    hasAlpha: false,
    isGrey: false,
    isIndexed: false,
    bitDepth: 8,
  };
  const pass = passOf([['extract', { left: 100, top: 100, width: 50, height: 60 }]]);
  const { width, height } = await made(input, pass, { header });
  t.same([width, height], [50, 60]);
});

t.test('what the sender reads from a header is what the thread would read', corpus, async (t) => {
  for (const folder of ['photos', 'orientation', 'pngsuite', 'modern']) {
    for (const name of imagesIn(folder).filter((file) => /\.(jpg|png|webp)$/.test(file))) {
      const header = readImageHeader(image(name));
      const read = await sharp(image(name), { failOn: 'error' })
        .metadata()
        .catch(() => undefined);
      if (header === null || header.animated || read === undefined) continue;
      const { width, height, hasAlpha, orientation = 1 } = read;
      const { width: w, height: h, hasAlpha: alpha, orientation: turned } = header;
      t.same([w, h, alpha, turned], [width, height, hasAlpha, orientation], name);
      const isGrey = read.channels - Number(hasAlpha) === 1;
      t.equal(header.channels - Number(alpha) === 1, isGrey, `${name}: grey`);
    }
  }
});

t.test('a pass that is past its deadline is not begun', async (t) => {
  const result = await run(dot, passOf([]), { deadlineMs: Date.now() - 1 });
  t.match(result, { code: 'internal_error', details: { reason: 'deadline_exceeded' } });
});
