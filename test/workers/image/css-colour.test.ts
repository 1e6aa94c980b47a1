// needs: nothing
import t from 'tap';
import { parseCssColour } from '../../../workers/image/colour/colour.ts';
import { drawn, rasterOf } from './passes.ts';

/** What a browser computes for each. */
const TABLE: [string, [r: number, g: number, b: number, alpha: number]][] = [
  ['orange', [255, 165, 0, 1]],
  ['Transparent', [0, 0, 0, 0]],
  ['#f80', [255, 136, 0, 1]],
  ['#ff880080', [255, 136, 0, 0.5]],
  ['rgb(255, 136, 0)', [255, 136, 0, 1]],
  ['rgb(255 136 0 / 50%)', [255, 136, 0, 0.5]],
  ['rgba(100%, 50%, 0%, .25)', [255, 128, 0, 0.25]],
  ['rgb(300 -5 1e2)', [255, 0, 100, 1]],
  ['hsl(120, 100%, 25%)', [0, 128, 0, 1]],
  ['hsla(0,100%,50%,50%)', [255, 0, 0, 0.5]],
  ['HSL(0.5turn 100% 50%)', [0, 255, 255, 1]],
  ['hsl(200grad 100% 50% / 0.5)', [0, 255, 255, 0.5]],
  ['hsl(3.14159265rad, 100%, 50%)', [0, 255, 255, 1]],
  ['hsl(-240deg 100% 50%)', [0, 255, 0, 1]],
  ['hsl(480 100 50)', [0, 255, 0, 1]],
  ['hsl(none none 50%)', [128, 128, 128, 1]],
  ['hwb(0.5turn 0% 0%)', [0, 255, 255, 1]],
  ['hwb(0 50% 0% / 50%)', [255, 128, 128, 0.5]],
  // As web-platform-tests (css/css-color) have them.
  ['lab(46.2775% -47.5621 48.5837)', [0, 128, 0, 1]],
  ['lch(52.2345% 72.2 56.2)', [198, 93, 6, 1]],
  ['oklab(59.69% 0.1007 0.1191 / 0.5)', [198, 93, 6, 0.5]],
  ['oklch(59.69% 0.156 49.77)', [198, 93, 6, 1]],
  ['color(srgb 1 0.5 0)', [255, 128, 0, 1]],
  ['color(display-p3 0.5 0.5 0.5)', [128, 128, 128, 1]],
  ['color(xyz-d65 0.9505 1 1.089)', [255, 255, 255, 1]],
];

t.test('every form of a notation is the colour that CSS says', async (t) => {
  for (const [text, [r, g, b, alpha]] of TABLE) {
    const found = parseCssColour(text);
    const apart = Math.max(
      ...[r - (found?.r ?? -9), g - (found?.g ?? -9), b - (found?.b ?? -9)].map(Math.abs),
    );
    t.ok(apart <= 1, `${text}: ${found?.r}, ${found?.g}, ${found?.b}`);
    t.ok(Math.abs((found?.alpha ?? -1) - alpha) < 0.01, `${text}: ${found?.alpha}`);
  }
});

t.test('what is no colour, or depends on a page, is none', (t) => {
  const texts = [
    '',
    'reddish',
    'currentcolor',
    'rgb(1, 2)',
    'rgb(10%, 2, 3)',
    'hwb(33, 0%, 0%)',
    '#12345',
    'rgb(1 2 3 4)',
    'url(x)',
    'var(--x)',
  ];
  for (const text of texts) t.equal(parseCssColour(text), undefined, text);
  t.end();
});

t.test('and that is what is painted', async (t) => {
  const dot = await drawn(4, 4, () => [0, 0, 0]);
  const { at } = await rasterOf(dot, [['border', { width: 1, color: 'hsla(0.5turn, 100%, 50%, 50%)' }]]);
  t.same(at(0, 0), [0, 255, 255, 128]);
});

t.test('a text that is far too long is no colour, whatever it begins with', async (t) => {
  for (const text of [
    `rgb(${'1'.repeat(1_000_000)}`,
    `#${'f'.repeat(1_000_000)}`,
    `hsl(${' '.repeat(1_000_000)}`,
  ])
    t.equal(parseCssColour(text), undefined, text.slice(0, 9));
  t.same(parseCssColour(`  rgb(255,${' '.repeat(100)}0, 0)  `), { r: 255, g: 0, b: 0, alpha: 1 });
});
