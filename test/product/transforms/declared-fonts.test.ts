// needs: server, browser
import { readdir, readFile } from 'node:fs/promises';
import t from 'tap';
import { openCalls, pictureOf } from './calls.ts';

const { server, key } = await openCalls(t);

/** A font of icons. Only it has the characters of its icons, which Unicode leaves to private use. */
const DIRECTORY = new URL('../../../node_modules/playwright-core/lib/vite/traceViewer/', import.meta.url);
const iconFile = (await readdir(DIRECTORY)).find((name) => /^codicon\..*ttf$/.test(name)) ?? '';
const iconFont = `url(data:font/ttf;base64,${(await readFile(new URL(iconFile, DIRECTORY))).toString('base64')})`;
const sansFont = 'local("DejaVu Sans")';

/** A filled circle, which has its colour in its middle. The square of a missing character is empty there. */
const CIRCLE = '\uea71';
/** A private character that no font of the tests has. */
const NOTHING = '\uf4ff';

const face = (family: string, source: string, rest = '') =>
  `@font-face { font-family: ${family}; src: ${source}; ${rest} }`;

interface Page {
  font: string;
  faces: string;
  text?: string;
}

function render({ font, faces, text = CIRCLE }: Page) {
  const css = `${faces} body { margin: 0; background: #fff } p { margin: 0; font: ${font} }`;
  return server.call('/images/render', {
    key,
    json: { html: `<p>${text}</p>`, css, width: 100, height: 100 },
  });
}

/** Whether the first character is a circle: filled to its sides at half its height, where a square is empty. */
async function isCircle(answer: Awaited<ReturnType<typeof render>>): Promise<boolean> {
  const { at } = await pictureOf(answer);
  return [28, 32, 36, 40, 44].every((x) => at(x, 37)[0] < 128);
}

/** The times of a call by their part in milliseconds. */
function timesOf({ headers }: Awaited<ReturnType<typeof render>>): Map<string, number> {
  const parts = (headers.get('server-timing') ?? '').matchAll(/(\w+);dur=([\d.]+)/g);
  return new Map([...parts].map(([, part = '', ms]) => [part, Number(ms)]));
}

t.test('the parts of the first render, whose browser starts, and of the second are its total', async (t) => {
  for (const turn of ['first', 'second']) {
    const answer = await render({ font: '80px sans-serif', faces: '' });
    const { total = 0, ...parts } = Object.fromEntries(timesOf(answer));
    const known = Object.values(parts).reduce((sum, part) => sum + part, 0);
    t.ok(total > 0 && known > total * 0.7, `${turn}: ${answer.headers.get('server-timing')}`);
  }
});

t.test('a character that only a declared font has is drawn, wherever the font is in its list', async (t) => {
  const fonts = [
    '80px/100px "DejaVu Sans", Icons',
    'bold 80px/100px "DejaVu Sans", Icons',
    '80px/100px sans-serif, Icons',
    '700 80px/100px sans-serif, Icons',
    '80px/100px Icons, sans-serif',
  ];
  for (const font of fonts) {
    const plain = await render({ font, faces: '' });
    t.notOk(await isCircle(plain), `${font}: without the face`);
    t.match(plain.headers.get('x-service-warnings'), /missing_glyph:EA71/);
    const drawn = await render({ font, faces: face('Icons', iconFont) });
    t.ok(await isCircle(drawn), `${font}: with the face`);
    t.equal(drawn.headers.get('x-service-warnings'), null);
    const other = await render({ font, faces: face('Icons', sansFont) });
    t.notOk(await isCircle(other), `${font}: a later page that declares another font by the name`);
    t.equal(other.headers.get('x-service-warnings'), 'missing_glyph:EA71');
    const ranged = await render({ font, faces: face('Icons', iconFont, 'unicode-range: U+EA00-EBFF') });
    t.ok(await isCircle(ranged), `${font}: with a range`);
    t.equal(ranged.headers.get('x-service-warnings'), null);
  }
});

t.test('a page in an iframe and a face that needs another one draw their characters', async (t) => {
  const faces = face('Icons', iconFont) + face('Sans', sansFont);
  t.ok(await isCircle(await render({ font: '80px/100px Sans, Icons', faces })));
  const css = `${faces} body { margin: 0 } p { margin: 0; font: 80px/100px 'DejaVu Sans', Icons }`;
  const framed = `<style>${css}</style><p>${CIRCLE}</p>`;
  const html = `<style>body { margin: 0 } iframe { border: 0 }</style><iframe srcdoc="${framed}"></iframe>`;
  const json = { html, width: 100, height: 100 };
  t.ok(await isCircle(await server.call('/images/render', { key, json })));
});

t.test(
  'a declared font tells which characters it lacks, and one that is broken or blocked ends',
  async (t) => {
    const font = '80px/100px Icons, sans-serif';
    const lacking = await render({ font, faces: face('Icons', iconFont), text: `${CIRCLE}${NOTHING}ä` });
    t.match(lacking.headers.get('x-service-warnings'), /missing_glyph:F4FF$/);
    for (const source of ['url(data:font/ttf;base64,AAAA)', 'url(https://example.com/a.woff2)']) {
      const answer = await render({ font, faces: face('Icons', source) });
      t.equal(answer.status, 200);
      t.match(answer.headers.get('x-service-warnings'), /font_replaced:Icons,missing_glyph:EA71$/, source);
    }
    const behind = await render({ font: '80px sans-serif, Icons', faces: face('Icons', 'url(data:,)') });
    t.equal(behind.headers.get('x-service-warnings'), 'missing_glyph:EA71');
  },
);

t.test('equal pages with a declared font are equal to the byte', async (t) => {
  const page = {
    font: '80px/100px "DejaVu Sans", Icons',
    faces: face('Icons', iconFont),
    text: `A${CIRCLE}`,
  };
  const first = await render(page);
  for (let turn = 1; turn < 20; turn += 1)
    t.ok(Buffer.from(first.bytes).equals(Buffer.from((await render(page)).bytes)), `turn ${turn}`);
});
