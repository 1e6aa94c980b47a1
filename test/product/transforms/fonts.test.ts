// needs: server, browser
import sharp from 'sharp';
import t from 'tap';
import { openCalls, pictureOf, type Raster, rasterOf } from './calls.ts';

const { server, key, transform } = await openCalls(t);
const render = (json: object) =>
  server.call('/images/render', { key, json: { width: 200, height: 100, ...json } });
const warningsOf = async (json: object) => (await render(json)).headers.get('x-service-warnings');

/** A character that no font has, because Unicode keeps it out of every text. */
const NOWHERE = '\u{10fffe}';

/** The number of pixels that are clearly neither black, white nor grey. */
function colouredPixels({ data }: Raster): number {
  let coloured = 0;
  for (let at = 0; at < data.length; at += 4) {
    const [red = 0, green = 0, blue = 0, alpha = 0] = data.subarray(at, at + 4);
    if (alpha > 128 && Math.max(red, green, blue) - Math.min(red, green, blue) > 60) coloured += 1;
  }
  return coloured;
}

async function greyPicture(): Promise<Uint8Array> {
  const plain = sharp({ create: { width: 200, height: 100, channels: 3, background: '#ffffff' } });
  return new Uint8Array(await plain.toColourspace('b-w').png().toBuffer());
}

t.test('the fonts are listed without a key, emoji and a broad sans among them', async (t) => {
  const { status, json } = await server.call('/fonts');
  t.equal(status, 200);
  t.equal(json.success, true);
  const familyOf = (name: string) => json.data.find(({ family }: { family: string }) => family === name);
  t.ok(familyOf('Noto Color Emoji')?.scripts.includes('Emoji'));
  const { styles, scripts } = familyOf('DejaVu Sans');
  t.ok(styles.includes('Bold') && styles.includes('Oblique'), styles.join());
  for (const script of ['Latin', 'Greek', 'Cyrillic', 'Arabic', 'Hebrew'])
    t.ok(scripts.includes(script), script);
  t.notOk(scripts.includes('Han'));
  t.same(Object.keys(familyOf('DejaVu Sans')).sort(), ['family', 'scripts', 'styles']);
});

t.test('an emoji is drawn in its colours, on a page and by text', async (t) => {
  const page = await render({ html: '<p style="font-size:60px;margin:0">🎉</p>' });
  t.equal(page.headers.get('x-service-warnings'), null);
  t.ok(colouredPixels(await pictureOf(page)) > 400);

  const text = { op: 'text', text: '🎉', size: 60, color: '#000000', position: 'center' };
  const drawn = await transform(text, await greyPicture());
  t.equal(drawn.headers.get('x-service-warnings'), null);
  t.ok(colouredPixels(await pictureOf(drawn)) > 400, 'on a grey picture, too');
  const faint = await rasterOf((await transform({ ...text, opacity: 0.2 }, await greyPicture())).bytes);
  t.equal(colouredPixels(faint), 0, 'and as solid as it is asked for');
  const words = await transform({ ...text, text: 'A', color: '#ff0000' }, await greyPicture());
  const besides = await transform({ ...text, text: 'A🎉', color: '#ff0000' }, await greyPicture());
  const reds = async (answer: typeof words) => {
    const { data } = await pictureOf(answer);
    let count = 0;
    for (let at = 0; at < data.length; at += 4)
      if (data[at] === 255 && data[at + 1] === 0 && data[at + 2] === 0) count += 1;
    return count;
  };
  t.ok(
    (await reds(words)) > 100 && (await reds(besides)) > 100,
    'letters beside it have the colour of the call',
  );
});

t.test('a page says which characters no font has', async (t) => {
  t.equal(await warningsOf({ html: `<p>a${NOWHERE}b${NOWHERE}</p>` }), 'missing_glyph:10FFFE');
  t.equal(await warningsOf({ html: '<svg><text y="20">&#x10fffd;</text></svg>' }), 'missing_glyph:10FFFD');
  const data = { word: NOWHERE, none: 'x' };
  t.equal(
    await warningsOf({ html: '{{ word }}{{ gone }}', data }),
    'unknown_variable:none,empty_variable:gone,missing_glyph:10FFFE',
  );
  t.equal(await warningsOf({ html: `<iframe srcdoc="<p>${NOWHERE}</p>"></iframe>` }), 'missing_glyph:10FFFE');
  for (const html of [
    `<p style="display:none">${NOWHERE}</p>`,
    `<p style="visibility:hidden">${NOWHERE}</p>`,
    `<!-- ${NOWHERE} --><style>p{x:${NOWHERE}}</style><p title="${NOWHERE}">x</p>`,
    'é e\u0301 – “q” \u00a0 \u00ad \u200b \u200d \ufe0f \ufeff \t ♥️ 👍🏽 🇩🇪 1️⃣ 👩‍👩‍👧',
    'Größe Ωμέγα Привет مرحبا שלום ½ €',
  ])
    t.equal(await warningsOf({ html }), null, html);
});

t.test('a page says which fonts are replaced', async (t) => {
  const styled = (family: string) => ({ html: `<p>x</p>`, css: `p { font-family: ${family} }` });
  const table: [family: string, warnings: string | null][] = [
    ['Inter', 'font_replaced:Inter'],
    ['Inter, "DejaVu Sans", sans-serif', 'font_replaced:Inter'],
    ['"No Such Font", monospace', 'font_replaced:No%20Such%20Font'],
    ['"DejaVu Sans", Inter', null],
    ['"dejavu sans"', null],
    ['sans-serif', null],
    ['monospace', null],
    ['system-ui', null],
    ['ui-sans-serif, system-ui', null],
    ['-apple-system, BlinkMacSystemFont, "Segoe UI"', null],
    ['Arial', null],
  ];
  for (const [family, warnings] of table) t.equal(await warningsOf(styled(family)), warnings, family);
  t.equal(await warningsOf({ html: '<p>x</p><pre>x</pre><button>x</button>' }), null, "the browser's own");
  const unused = { html: '<p>x</p><i></i><b style="display:none">x</b>', css: 'i, b { font-family: Inter }' };
  t.equal(await warningsOf(unused), null, 'of text that is not drawn');
});

t.test("a page's own @font-face counts as there, unless it did not load", async (t) => {
  const css = (source: string) =>
    `@font-face { font-family: "My Font"; src: ${source} } p { font-family: "My Font", sans-serif }`;
  const html = `<p>x ${NOWHERE}</p>`;
  t.equal(await warningsOf({ html, css: css('local("DejaVu Sans")') }), 'missing_glyph:10FFFE');
  t.equal(
    await warningsOf({ html, css: css('url(data:font/ttf;base64,AAAA)') }),
    'font_replaced:My%20Font,missing_glyph:10FFFE',
  );
});

t.test('text says what was drawn otherwise, by an op, steps and a preset', async (t) => {
  const parameters = { text: `漢${NOWHERE}`, font: 'Inter' };
  const body = await greyPicture();
  const op = await transform({ op: 'text', ...parameters }, body);
  t.match(op.headers.get('x-service-warnings'), /^font_replaced:Inter,.*missing_glyph:10FFFE$/);
  const plain = await transform({ op: 'text', text: 'plain', font: 'DejaVu Sans Bold' }, body);
  t.equal(plain.headers.get('x-service-warnings'), null);

  const steps = [{ op: 'text', parameters: { text: NOWHERE, font: 'sans bold' } }];
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(body)], { type: 'image/png' }), 'a.png');
  form.append('steps', JSON.stringify(steps));
  const several = await server.call('/images/transform', { key, body: form });
  t.equal(several.headers.get('x-service-warnings'), 'missing_glyph:10FFFE');

  await server.call('/presets', { key, json: { name: 'Mark', slug: 'mark', steps } });
  const saved = await transform({ preset: 'mark' }, body);
  t.equal(saved.headers.get('x-service-warnings'), 'missing_glyph:10FFFE');
});
