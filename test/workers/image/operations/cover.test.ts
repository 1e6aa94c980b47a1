// needs: pixels
import sharp from 'sharp';
import t from 'tap';
import { caseFile, needsCases } from '../../../support/cases.ts';
import { image, needsImages } from '../../../support/images.ts';
import { difference, drawn, made, passOf, raster, rasterOf, refused } from '../passes.ts';

const cases = needsCases(t);
const corpus = needsImages(t);
const SQUARE = { width: 512, height: 512, fit: 'cover', enlarge: true };

/** Red at the start of the longer side, green in the middle, blue at the end. */
const banner = (width: number, height: number) =>
  drawn(width, height, (x, y) => {
    const share = Math.max(x / width, y / height);
    if (width > height ? x < height : y < width) return [255, 0, 0];
    return share > 0.9 ? [0, 0, 255] : [0, 255, 0];
  });

t.test('a cover makes a square of a picture of any shape', async (t) => {
  const aims: [aim: object, at: (length: number) => 'red' | 'green' | 'blue'][] = [
    [{ gravity: 'center' }, () => 'green'],
    [{ gravity: 'northwest' }, () => 'red'],
    [{ gravity: 'southeast' }, () => 'blue'],
    [{ focalX: 0, focalY: 0 }, () => 'red'],
    [{ focalX: 0.95, focalY: 0.95 }, () => 'blue'],
  ];
  const colours = { red: [255, 0, 0, 255], green: [0, 255, 0, 255], blue: [0, 0, 255, 255] };
  for (const [width, height] of [
    [6000, 100],
    [100, 6000],
  ] as const) {
    const file = await banner(width, height);
    for (const kernel of ['lanczos3', 'nearest']) {
      for (const [aim, expected] of aims) {
        const cut = await rasterOf(file, [['resize', { ...SQUARE, ...aim, kernel }]]);
        t.same([cut.width, cut.height], [512, 512]);
        t.same(cut.at(200, 200), colours[expected(width)], `${width} x ${height} ${JSON.stringify(aim)}`);
      }
    }
    for (const gravity of ['attention', 'entropy']) {
      const cut = await rasterOf(file, [['resize', { ...SQUARE, gravity }]]);
      t.same([cut.width, cut.height], [512, 512], gravity);
    }
  }
});

t.test('the interesting part is found where the scaled picture would be too large', cases, async (t) => {
  const cut = await rasterOf(caseFile('png-12000x300.png'), [
    ['resize', { ...SQUARE, gravity: 'attention' }],
  ]);
  t.same([cut.width, cut.height], [512, 512]);
  const spot = await drawn(9000, 40, (x, y) =>
    x > 7000 && x < 7300 && y > 5 && y < 35 ? [255, 0, 0] : [90, 90, 90],
  );
  const found = await rasterOf(spot, [
    ['resize', { ...SQUARE, width: 2048, height: 2048, gravity: 'attention' }],
  ]);
  const red = found.data.filter((value, at) => at % 4 === 0 && value > 200).length;
  t.ok(red > 500_000, `${red} pixels of the spot are kept`);
});

t.test('what is made of a box is what the whole would have there', corpus, async (t) => {
  const photo = image('photos/kodak-7.png');
  const { width = 0, height = 0 } = await sharp(photo).metadata();
  for (const kernel of ['lanczos3', 'mitchell', 'linear', 'nearest']) {
    const scaled = { width: width * 2, height: height * 2, kernel, enlarge: true };
    const cut = { left: width - 150, top: 2 * height - 300, width: 300, height: 300 };
    const whole = await rasterOf(photo, [
      ['resize', scaled],
      ['extract', cut],
    ]);
    const shape = { width: 2 * height, height: 2 * height };
    const cover = await rasterOf(photo, [
      ['resize', { ...scaled, ...shape, fit: 'cover' }],
      ['extract', { ...cut, left: height - 150 }],
    ]);
    t.equal(difference(cover, whole), 0, kernel);
  }
});

t.test('a long picture is made smaller though its scaled length is beyond the limit of a side', async (t) => {
  const file = await drawn(36_000, 20, (x) => (x < 18_000 ? [255, 0, 0] : [0, 0, 255]));
  const { data } = await made(
    file,
    passOf([['resize', { width: 16, height: 16, fit: 'cover', gravity: 'east' }]]),
  );
  t.same((await raster(data)).at(8, 8), [0, 0, 255, 255]);
  const failure = await refused(file, passOf([['resize', { width: 20_000 }]]));
  t.match(failure, { code: 'invalid_param', message: /16384/ });
});
