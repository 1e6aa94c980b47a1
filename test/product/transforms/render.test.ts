// needs: server, browser
import sharp from 'sharp';
import t from 'tap';
import { sharedServer, startServer, type TestServer } from '../../support/harness.ts';
import { redSquare } from '../../support/images.ts';
import { untilAtWork } from '../../workers/render/processes.ts';
import { draw, PICTURES, type Picture } from '../templates/pictures.ts';
import { compare, fontDifferences } from '../templates/references.ts';
import { pictureOf, refusalOf } from './calls.ts';

/** Below and above these, a person sees that it is another picture. */
const MIN_LIKENESS = 0.97;
const MAX_COLOUR_DISTANCE = 2;

/** One takes seconds of a core. */
const TURBULENCE = '<rect width="100%" height="100%" filter="url(#f)"/>';

const server = await sharedServer();
const { key } = await server.account();
const browser = await needsBrowser();
const fonts = sameFonts();

for (const picture of PICTURES) {
  const { name, size } = picture;
  t.test(`${name} is drawn in its size`, browser, async (t) => {
    const { status, headers, bytes, json } = await draw(server, key, picture);
    t.equal(status, 200, json?.error.message ?? 'it is drawn');
    t.equal(headers.get('content-type'), 'image/png');
    t.match(headers.get('x-service-duration-ms'), /^\d+$/);
    t.match(headers.get('server-timing'), /process;dur=/);
    const { format, width, height } = await sharp(bytes).metadata();
    t.same([format, width, height], ['png', ...size]);

    await t.test('as its reference', fonts, async (t) => {
      const { likeness, colourDistance } = await compare(name, bytes);
      t.comment(`${name}: likeness ${likeness.toFixed(4)}, colours ${colourDistance.toFixed(2)} apart`);
      t.ok(likeness >= MIN_LIKENESS, `${likeness} is like the reference`);
      t.ok(colourDistance <= MAX_COLOUR_DISTANCE, `${colourDistance} is no other colour`);
    });
  });
}

t.test('the comparison sees other words, a missing image and another colour', browser, async (t) => {
  const unlike = async (name: string, changes: Record<string, string>) => {
    const picture = PICTURES.find((known) => known.name === name) as Picture;
    return compare(name, (await draw(server, key, picture, changes)).bytes);
  };
  t.ok((await unlike('quote', { quote: 'Something else was said.' })).likeness < MIN_LIKENESS);
  t.ok((await unlike('own-page', { asset: 'ast_absent' })).likeness < MIN_LIKENESS);
  t.ok((await unlike('product-banner', { image: '' })).likeness < MIN_LIKENESS);
  t.ok((await unlike('own-page', { emoji: '' })).likeness < MIN_LIKENESS);
  t.ok((await unlike('certificate', { recipient: '' })).likeness < MIN_LIKENESS);
  const { likeness, colourDistance } = await unlike('product-banner', { accent: '#a03050' });
  t.ok(likeness > MIN_LIKENESS, 'light alone does not tell');
  t.ok(colourDistance > MAX_COLOUR_DISTANCE);
});

t.test(
  'an escaped placeholder is drawn as text, a raw one as markup, one in the style as style',
  browser,
  async (t) => {
    const templateId = await ownTemplate(server, key, {
      html: '<div>{{ mark }}</div><div>{{{ mark }}}</div>',
      css: `body { margin: 0; display: flex; background: {{ page.colour }} }
      div { position: relative; width: 100px; height: 100px; font: 16px sans-serif }
      i { position: absolute; inset: 0; background: lime }`,
    });
    const data = { mark: '<i></i>', page: { colour: '#0000ff' } };
    const picture = await pictureOf(await render({ templateId, data }));
    t.same(picture.at(50, 80), [0, 0, 255, 255], 'below the text');
    t.same(picture.at(150, 80), [0, 255, 0, 255], 'the element');
    const text = Array.from({ length: 100 * 25 }, (_, index) =>
      picture.at(index % 100, Math.floor(index / 100)),
    );
    t.ok(
      text.some(([red, green, blue]) => red + green + blue === 0),
      'the brackets themselves',
    );
  },
);

t.test('where a page paints nothing the picture is transparent', browser, async (t) => {
  const html = '<div style="position:absolute;left:0;top:0;width:50px;height:50px;background:red"></div>';
  const picture = await pictureOf(await render({ templateId: await ownTemplate(server, key, { html }) }));
  t.same(picture.at(10, 10), [255, 0, 0, 255]);
  t.same(picture.at(150, 50), [0, 0, 0, 0]);
});

t.test('a template is drawn by its slug, and by an older version', browser, async (t) => {
  const page = (colour: string) => `<body style="background:${colour}">`;
  const id = await ownTemplate(server, key, { html: page('red'), slug: 'my-card' });
  await server.call(`/templates/${id}`, { method: 'PUT', key, json: { html: page('blue') } });
  const middle = async (templateId: string) => (await pictureOf(await render({ templateId }))).at(100, 50);
  t.same(await middle('my-card'), [0, 0, 255, 255]);
  t.same(await middle('my-card@1'), [255, 0, 0, 255]);
  t.same(await middle(`${id}@2`), [0, 0, 255, 255]);
});

t.test('a render says what it could not fill and not load', browser, async (t) => {
  const html = '<h1>{{ title }}</h1><img src="{{ image }}"><img src="asset://{{ asset }}">';
  const templateId = await ownTemplate(server, key, { html });
  const data = { titel: 'x', image: 'https://example.com/a.png', asset: 'ast_absent' };
  const { status, headers } = await render({ templateId, data });
  t.equal(status, 200);
  t.equal(
    headers.get('x-service-warnings'),
    'unknown_variable:titel,empty_variable:title,blocked_resource:https,missing_asset:ast_absent',
  );
  const whole = { title: 'x', image: 'data:,', asset: '' };
  t.equal((await render({ templateId, data: whole })).headers.get('x-service-warnings'), null);
});

t.test('a render says which values its styles read escaped', browser, async (t) => {
  const templateId = await ownTemplate(server, key, {
    html: '<p style="color:{{ page.colour }}">{{ text }}</p>',
    css: 'p{font-family:{{ font }}}',
  });
  const data = { font: '"Noto Serif"', page: { colour: "'red'" }, text: 'a & b' };
  const { headers } = await render({ templateId, data });
  t.equal(headers.get('x-service-warnings'), 'escaped_in_css:font,escaped_in_css:page.colour');
});

t.test('an asset of another account does not load', browser, async (t) => {
  const owner = await server.account();
  const body = new Uint8Array(
    await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
      .png()
      .toBuffer(),
  );
  const uploaded = await server.call('/assets/upload', { key: owner.key, body, type: 'image/png' });
  const page = {
    html: '<body style="margin:0;background:lime"><img alt="" src="asset://{{ asset }}" style="width:200px;height:100px">',
  };
  const data = { asset: uploaded.json.data.id };
  const colourFor = async (as: string) => {
    const templateId = await ownTemplate(server, as, page);
    return (await pictureOf(await render({ templateId, data }, as))).at(100, 50);
  };
  t.same(await colourFor(owner.key), [255, 0, 0, 255]);
  t.same(await colourFor(key), [0, 255, 0, 255]);
});

t.test(
  'an asset is drawn under the address that the service listens at, without PUBLIC_URL',
  browser,
  async (t) => {
    const uploaded = await server.call('/assets/upload', { key, body: await redSquare(), type: 'image/png' });
    const address = `${server.url}/api/v1/assets/${uploaded.json.data.id}/content`;
    const templateId = await ownTemplate(server, key, {
      html: `<body style="margin:0;background:lime"><img alt="" src="${address}">`,
    });
    const picture = await pictureOf(await render({ templateId }));
    t.same(
      [picture.at(16, 16), picture.at(60, 60)],
      [
        [255, 0, 0, 255],
        [0, 255, 0, 255],
      ],
    );
  },
);

t.test('an asset of a format that no browser draws is drawn, upright', browser, async (t) => {
  const halves = sharp({ create: { width: 40, height: 80, channels: 3, background: 'red' } }).composite([
    { input: { create: { width: 40, height: 40, channels: 3, background: 'blue' } }, gravity: 'south' },
  ]);
  const body = new Uint8Array(
    await halves.withMetadata({ orientation: 3 }).tiff({ compression: 'lzw' }).toBuffer(),
  );
  const uploaded = await server.call('/assets/upload', { key, body, type: 'image/tiff' });
  const templateId = await ownTemplate(server, key, {
    html: '<body style="margin:0;background:lime"><img alt="" src="asset://{{ asset }}">',
  });
  const picture = await pictureOf(await render({ templateId, data: { asset: uploaded.json.data.id } }));
  t.same(
    [picture.at(20, 20), picture.at(20, 60), picture.at(60, 20)],
    [
      [0, 0, 255, 255],
      [255, 0, 0, 255],
      [0, 255, 0, 255],
    ],
  );
});

t.test('a call that names no template, or none of its own, is refused', async (t) => {
  const stranger = await server.account();
  const theirs = await ownTemplate(server, stranger.key, { html: 'theirs', slug: 'theirs' });
  const builtIn = 'builtin-template-quote';
  const badTemplate = { status: 400, code: 'invalid_param', param: 'templateId' };
  const noTemplate = { status: 404, code: 'not_found', param: 'templateId' };
  const badData = { status: 400, code: 'invalid_param', param: 'data' };
  const refusals: [json: unknown, refusal: object][] = [
    [{}, badTemplate],
    [{ templateId: `${builtIn}@x` }, badTemplate],
    [{ templateId: `${builtIn}@0` }, badTemplate],
    [{ templateId: '@x' }, badTemplate],
    [{ templateId: 7 }, badTemplate],
    [{ templateId: 'unknown' }, noTemplate],
    [{ templateId: `${builtIn}@2` }, noTemplate],
    [{ templateId: theirs }, noTemplate],
    [{ templateId: 'theirs' }, noTemplate],
    [{ templateId: builtIn, data: 'row' }, badData],
    [{ templateId: builtIn, data: [] }, badData],
    [{ templateId: builtIn, data: 3 }, badData],
  ];
  for (const [json, refusal] of refusals)
    t.match(refusalOf(await render(json)), { ...refusal, retryable: false }, JSON.stringify(json));
});

t.test('a render counts against the allowance, a refused one does not', browser, async (t) => {
  const account = await server.account();
  const templateId = await ownTemplate(server, account.key, { html: 'x' });
  t.equal((await render({ templateId }, account.key)).status, 200);
  t.equal((await render({ templateId: 'unknown' }, account.key)).status, 404);
  const { groups } = (await server.call('/usage?groupBy=op', { key: account.key })).json.data;
  t.same(groups, [{ key: 'render_template', jobs: 0, credits: 0, items: 0, sync: 1 }]);
});

t.test(
  "a page that hangs ends at its deadline, and another account's is drawn meanwhile",
  browser,
  async (t) => {
    const hasty = await startServer(t, {
      // Long enough for a busy machine to draw the neighbour's page meanwhile.
      settings: { RENDER_TIMEOUT_MS: '8000', RENDER_THREADS: '2' },
    });
    const [caller, neighbour] = [await hasty.account(), await hasty.account()];
    const turbulence = await ownTemplate(hasty, caller.key, {
      html: `<svg width="4096" height="4096"><filter id="f"><feTurbulence baseFrequency=".9" numOctaves="9999"/></filter>${TURBULENCE.repeat(50)}</svg>`,
      width: 4096,
      height: 4096,
    });
    const plain = await ownTemplate(hasty, neighbour.key, { html: '<body style="background:lime">' });
    const drawPlain = () => hasty.call('/images/render', { key: neighbour.key, json: { templateId: plain } });
    // Both browsers start before a clock is set against them.
    await Promise.all([drawPlain(), drawPlain()]);

    let hangs = true;
    const hanging = hasty
      .call('/images/render', { key: caller.key, json: { templateId: turbulence } })
      .finally(() => {
        hangs = false;
      });
    const drawn = await pictureOf(await drawPlain());
    t.same(drawn.at(100, 50), [0, 255, 0, 255]);
    t.ok(hangs, 'the other page still hangs');

    const answer = await hanging;
    t.match(refusalOf(answer), {
      status: 503,
      code: 'provider_unavailable',
      details: { reason: 'deadline_exceeded' },
      retryable: true,
    });
    t.ok(Number(answer.headers.get('retry-after')) >= 1);
    const { total } = (await hasty.call('/usage', { key: caller.key })).json.data;
    t.equal(total.sync, 0, 'it costs nothing');
  },
);

t.test("a page whose client leaves is ended, and another account's is drawn", browser, async (t) => {
  const stranger = await server.account();
  const hanging = await ownTemplate(server, stranger.key, {
    html: `<svg width="4096" height="4096"><filter id="f"><feTurbulence baseFrequency=".9" numOctaves="9999"/></filter>${TURBULENCE.repeat(50)}</svg>`,
    width: 4096,
    height: 4096,
  });
  const templateId = await ownTemplate(server, key, { html: '<body style="background:lime">' });
  const client = new AbortController();
  const left = fetch(`${server.url}/api/v1/images/render`, {
    method: 'POST',
    headers: { authorization: `ApiKey ${stranger.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ templateId: hanging }),
    signal: client.signal,
  });
  await untilAtWork();
  client.abort();
  await t.rejects(left, { name: 'AbortError' });
  const drawn = await pictureOf(await render({ templateId }));
  t.same(drawn.at(100, 50), [0, 255, 0, 255]);
});

t.test('an Accept that takes neither JSON nor pictures is refused', async (t) => {
  const templateId = await ownTemplate(server, key, { html: 'x' });
  const call = (accept: string) =>
    server.call('/images/render', { key, json: { templateId }, headers: { accept } });
  for (const accept of ['text/html', 'text/plain, text/html']) {
    const answer = await call(accept);
    t.match(refusalOf(answer), { status: 406, code: 'not_acceptable' }, accept);
    t.same(answer.json.error.details.supported, ['application/json', 'image/*']);
  }
  for (const accept of ['image/png', 'image/*', '*/*', 'image/jpeg, */*;q=0.1'])
    t.not((await call(accept)).status, 406, accept);
});

function render(json: unknown, as = key) {
  return server.call('/images/render', { key: as, json });
}

/** Creates a template of 200 × 100 unless told, and answers its id. */
async function ownTemplate(at: TestServer, as: string, content: object): Promise<string> {
  const json = { name: 'A page', width: 200, height: 100, ...content };
  const answer = await at.call('/templates', { key: as, json });
  if (answer.status !== 201) throw new Error(`${answer.status} ${answer.bytes}`);
  return answer.json.data.id;
}

/** Options for a test that draws: skipped loudly where no browser starts, failed when CI=true. */
async function needsBrowser(): Promise<{ skip: string | false }> {
  const { status, json } = await render({ templateId: await ownTemplate(server, key, { html: 'x' }) });
  if (status !== 503 || json.error.details.reason !== 'worker_unreachable') return { skip: false };
  const reason = `no browser starts here: ${json.error.message}`;
  if (process.env.CI === 'true') t.fail(reason);
  console.error(`\n*** Nothing is drawn, ${reason} ***\n`);
  return { skip: reason };
}

/**
 * Options for a comparison: fonts decide a picture, and which are there is a machine's own choice, with CI=true too.
 */
function sameFonts(): { skip: string | false } {
  const differences = fontDifferences();
  if (differences.length === 0) return { skip: false };
  const reason = `the fonts are others than those of the references: ${differences.join(', ')}`;
  console.error(`\n*** Pictures are not compared, ${reason} ***\n`);
  return { skip: reason };
}
