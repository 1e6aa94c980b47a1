// needs: server
import sharp from 'sharp';
import t from 'tap';
import { image, needsImages } from '../../support/images.ts';
import { openCalls, pictureOf, pngOf, type Query, rasterOf } from './calls.ts';

const corpus = needsImages(t);
const calls = await openCalls(t);
const PHOTO = 'photos/kodak-1.png';

t.test(
  'what lies under a rounded corner or beside a border is gone, and the middle stays',
  corpus,
  async (t) => {
    const file = image(PHOTO);
    const photo = await rasterOf(file);
    const make = async (query: Query) => pictureOf(await calls.transform({ ...query, format: 'png' }, file));

    const rounded = await make({ op: 'round_corners', radius: 40 });
    for (const [x, y] of [
      [0, 0],
      [767, 0],
      [0, 511],
      [767, 511],
      [10, 10],
    ] as const) {
      t.equal(rounded.at(x, y)[3], 0, `(${x}, ${y}) is outside of the arc`);
    }
    for (const [x, y] of [
      [40, 0],
      [0, 40],
      [12, 12],
      [384, 256],
    ] as const)
      t.same(rounded.at(x, y), photo.at(x, y));

    const ellipse = await make({ op: 'round_corners', radius: '50%' });
    t.equal(ellipse.at(100, 70)[3], 0, 'outside of the ellipse');
    t.same(ellipse.at(130, 100), photo.at(130, 100));

    const framed = await make({ op: 'border', width: 10, color: '#00ff00', radius: 30 });
    t.same([framed.width, framed.height], [788, 532]);
    t.equal(framed.at(2, 2)[3], 0);
    t.same(framed.at(5, 266), [0, 255, 0, 255]);
    t.same(framed.at(10, 266), photo.at(0, 256));
  },
);

t.test('trim finds the picture in its margin, by the corner or by a named colour', corpus, async (t) => {
  const margin = { top: 12, bottom: 34, left: 56, right: 78, background: '#f0f' };
  const file = await pngOf(sharp(image(PHOTO)).extend(margin));
  const photo = await rasterOf(image(PHOTO));
  for (const query of [{ op: 'trim' }, { op: 'trim', background: '#ff00ff', threshold: 20 }]) {
    const trimmed = await pictureOf(await calls.transform(query, file));
    t.same([trimmed.width, trimmed.height], [768, 512]);
    t.same(trimmed.at(300, 300), photo.at(300, 300));
  }
  const even = await pngOf(sharp({ create: { width: 30, height: 20, channels: 3, background: '#f0f' } }));
  const answer = await calls.transform({ op: 'trim' }, even);
  t.equal(answer.status, 200, 'a picture of one colour stays');
  const { width, height } = await pictureOf(answer);
  t.same([width, height], [30, 20]);
});
