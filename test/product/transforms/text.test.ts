// needs: server
import sharp from 'sharp';
import t from 'tap';
import { openCalls, pictureOf, pngOf, type Query, type Raster } from './calls.ts';

const calls = await openCalls(t);

t.test('text is written where it should stand, as text and never as markup', async (t) => {
  const blank = await pngOf(sharp({ create: { width: 400, height: 200, channels: 3, background: 'black' } }));
  const write = async (query: Query) => pictureOf(await calls.transform({ op: 'text', ...query }, blank));
  const places: [position: string, isLeft: boolean | null, isTop: boolean | null][] = [
    ['northwest', true, true],
    ['north', null, true],
    ['east', false, null],
    ['southeast', false, false],
    ['center', null, null],
  ];
  for (const [position, isLeft, isTop] of places) {
    const ink = inkIn(await write({ text: 'Ag', size: 40, position, margin: 10 }));
    const [x, y] = [(ink.left + ink.right) / 2, (ink.top + ink.bottom) / 2];
    const isAbout = (at: number, edge: number, isLow: boolean | null) =>
      isLow === null ? Math.abs(at - edge / 2) < 15 : isLow ? at < edge / 3 : at > (edge * 2) / 3;
    t.ok(isAbout(x, 400, isLeft) && isAbout(y, 200, isTop), `${position}: ${JSON.stringify(ink)}`);
  }
  const plain = inkIn(await write({ text: 'bold', size: 30 }));
  const markup = inkIn(await write({ text: '<b>bold</b>', size: 30 }));
  t.ok(markup.right - markup.left > 1.5 * (plain.right - plain.left), 'the tags themselves are written');
  for (const text of ['<span', '&amp;', '&#x0;', '</markup>', '%s%n', '\u202e<i>', '🎉', 'ا']) {
    t.ok(inkIn(await write({ text, size: 30 })).pixels > 0, `${JSON.stringify(text)} leaves ink`);
  }
  t.same(
    (await write({ text: 'X', color: '#f00', size: 200, position: 'center' })).data
      .filter((_, index) => index % 4 === 1 || index % 4 === 2)
      .some((value) => value > 0),
    false,
    'in its colour',
  );
  t.equal(inkIn(await write({ text: 'X', opacity: 0 })).pixels, 0, 'and none at all without opacity');
});

t.test('a size in per cent is a share of the width of the picture', async (t) => {
  for (const width of [200, 800]) {
    const blank = await pngOf(sharp({ create: { width, height: 300, channels: 3, background: 'black' } }));
    const write = async (size: unknown) => {
      const { data } = await pictureOf(await calls.transform({ op: 'text', text: 'Ag', size }, blank));
      return Buffer.from(data.buffer);
    };
    t.ok((await write('10%')).equals(await write(width / 10)), `10% of ${width}`);
    t.notOk((await write('10%')).equals(await write(32)), 'and not the usual size');
    t.ok((await write('0.01%')).equals(await write(1)), 'at least a pixel');
    for (const size of ['0%', '101%', '-4%', '4 %', 'large']) {
      const { status, json } = await calls.transform({ op: 'text', text: 'Ag', size }, blank);
      t.match({ status, param: json.error.param }, { status: 400, param: 'size' }, size);
    }
  }
});

/** The box of what is not black. */
function inkIn({ width, height, data }: Raster) {
  const box = { left: width, top: height, right: 0, bottom: 0, pixels: 0 };
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = (y * width + x) * 4;
      if ((data[at] ?? 0) + (data[at + 1] ?? 0) + (data[at + 2] ?? 0) < 90) continue;
      box.left = Math.min(box.left, x);
      box.right = Math.max(box.right, x);
      box.top = Math.min(box.top, y);
      box.bottom = Math.max(box.bottom, y);
      box.pixels += 1;
    }
  }
  return box;
}
