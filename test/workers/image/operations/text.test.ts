// needs: pixels
import t from 'tap';
import { drawn, passOf, rasterOf, refused } from '../passes.ts';

t.test('text is drawn as text, never parsed as markup', async (t) => {
  const blank = await drawn(200, 60, () => [0, 0, 0]);
  const ink = async (text: string, params: object = {}) => {
    const { data } = await rasterOf(blank, [['text', { text, size: 20, ...params }]]);
    return data.reduce((sum, value, index) => (index % 4 === 0 ? sum + value : sum), 0);
  };
  t.ok((await ink('x')) > 0);
  t.ok((await ink('<b>x</b>')) > 3 * (await ink('x')), 'a tag is as long as it is written');
  t.ok((await ink('&amp;&#0;<span')) > 0, 'what is no markup at all does not fail');
  t.ok((await ink('a\u0000\u0007b')) > 0, 'control characters neither');
  t.equal(await ink(' \n '), 0);
  t.ok((await ink('x', { rotate: 30 })) > 0);
  t.ok((await ink('WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW', { size: 40 })) > 0, 'longer than the picture');
  const word = 'x'.repeat(30);
  const broken = await ink(word);
  const inLines = (letters: number) => word.replace(new RegExp(`.{${letters}}(?=.)`, 'g'), '$&\n');
  const splits = await Promise.all(Array.from({ length: 20 }, (_, index) => ink(inLines(index + 1))));
  t.ok(splits.includes(broken), 'a word that is broken gets no hyphen');
  t.equal(await ink('x', { font: 'sans\u0000' }), await ink('x'), 'nor does a font');
  const half = await ink('x', { opacity: 0.5 });
  t.ok(Math.abs(half / (await ink('x')) - 0.5) < 0.05);
  const huge = passOf([['text', { text: 'W\n'.repeat(250), size: 1000 }]]);
  t.match(await refused(blank, huge), { code: 'invalid_param', param: 'steps[0].params.size' });
});

t.test('a margin is a number of pixels, or a share of the shorter side', async (t) => {
  const blank = await drawn(200, 60, () => [0, 0, 0]);
  const written = async (margin: number | string) =>
    (await rasterOf(blank, [['text', { text: 'x', size: 20, margin }]])).data;
  t.same(await written('10%'), await written(6));
  t.notSame(await written(6), await written(16));
});

t.test('lines of text end where the text stands', async (t) => {
  const blank = await drawn(400, 120, () => [0, 0, 0]);
  // Of the short line, below the long one: how far from the left its ink begins and ends.
  const inkOf = async (position: string) => {
    const text = 'WWWWWWWWWW\nI';
    const { at } = await rasterOf(blank, [['text', { text, size: 30, position, margin: 0 }]]);
    const long: number[] = [];
    const short: number[] = [];
    for (let x = 0; x < 400; x++) {
      const inked = Array.from({ length: 120 }, (_, y) => y).filter((y) => (at(x, y)[0] ?? 0) > 100);
      if (inked.length === 0) continue;
      long.push(x);
      if (Math.max(...inked) - Math.min(...inked) > 30) short.push(x);
    }
    const [left = 0, right = 0] = [long[0], long.at(-1)];
    return ((short[0] ?? 0) - left) / (right - left);
  };
  t.ok((await inkOf('west')) < 0.1);
  t.ok((await inkOf('east')) > 0.9);
  t.ok(Math.abs((await inkOf('south')) - 0.5) < 0.1);
});
