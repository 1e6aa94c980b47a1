// needs: server, browser
import sharp from 'sharp';
import t from 'tap';
import { animatedPng } from '../../support/animated-png.ts';
import { sharedServer, startServer, type TestServer } from '../../support/harness.ts';
import { image, needsImages } from '../../support/images.ts';
import { rasterOf } from './calls.ts';

const RED = [255, 0, 0, 255];
const BLUE = [0, 0, 255, 255];
/** The edge of the square that each way of moving fills. */
const EDGE = 40;
const PICTURES = 10;
/** As many as an account may have at once. */
const AT_ONCE = 4;
const FRAME_MS = 20;

interface Moving {
  html: string;
  css?: string;
  colour: number[];
}

const square = (id: string, colour: string, style: string) => ({
  html: `<i id="${id}"></i>`,
  css: `#${id}{display:block;width:${EDGE}px;height:${EDGE}px;background:${colour};${style}}`,
});
const inImage = (url: string) => `<img src="${url}" width="${EDGE}" height="${EDGE}" style="display:block">`;
const inBackground = (url: string) => `<b style="display:block;height:100%;background:url('${url}')"></b>`;
const inFrame = (url: string) =>
  `<iframe src="${url}" width="${EDGE}" height="${EDGE}" style="border:0"></iframe>`;
const encoded = (type: string, text: string) => `data:${type},${encodeURIComponent(text)}`;
const base64 = (type: string, bytes: string | Uint8Array) =>
  `data:${type};base64,${Buffer.from(bytes).toString('base64')}`;
const drawing = (inside: string, style = '') =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${EDGE}" height="${EDGE}">${style && `<style>${style}</style>`}<rect width="${EDGE}" height="${EDGE}" fill="#f00">${inside}</rect></svg>`;

const PULSE = '@keyframes pulse{from{fill:#f00}to{fill:#00f}}rect{animation:pulse .3s infinite alternate}';
const TURN_BLUE = '@keyframes turn{to{fill:#00f}}rect{animation:turn 2s .1s forwards}';
const ANIMATE = '<animate attributeName="fill" values="#f00;#0f0" dur=".3s" repeatCount="indefinite"/>';
const SET = '<set attributeName="fill" to="#0f0" begin=".05s"/>';
const SPIN =
  '<animateTransform attributeName="transform" type="translate" from="0" to="40" dur=".3s" repeatCount="indefinite"/>';
const KEYFRAMES = '@keyframes fade{from{opacity:0}to{opacity:1}}@keyframes blue{to{background:#00f}}';

const frames = await Promise.all(
  ['#f00', '#0f0', '#00f'].map((background) =>
    sharp({ create: { width: EDGE, height: EDGE, channels: 3, background } })
      .png({ palette: false })
      .toBuffer(),
  ),
);
const joined = () => sharp(frames, { join: { animated: true } });
const delay = frames.map(() => FRAME_MS);
const gif = base64('image/gif', await joined().gif({ delay }).toBuffer());
const webp = base64('image/webp', await joined().webp({ delay, lossless: true }).toBuffer());
const apng = base64('image/png', animatedPng(frames, { delayMs: FRAME_MS }));

/** By the name of the way of moving. */
const MOVING: Record<string, Moving> = {
  'an animation that ends': { ...square('ends', '#f00', 'animation:fade 2s forwards'), colour: RED },
  'an animation that begins later': {
    ...square('later', '#f00', 'animation:blue 1s 3s forwards'),
    colour: BLUE,
  },
  'an animation that leaves nothing behind': {
    ...square('leaves', '#f00', 'animation:blue 1s backwards'),
    colour: RED,
  },
  'an animation that repeats for ever': {
    ...square('pulse', '#f00', 'animation:fade 1s infinite alternate'),
    colour: RED,
  },
  'an animation that stands still': {
    ...square('paused', '#f00', 'animation:blue 2s -2s paused both'),
    colour: BLUE,
  },
  'a transition': {
    ...square('starting', '#00f', 'transition:background 2s 1s'),
    html: '<i id="starting"></i><style>@starting-style{#starting{background:#f00}}</style>',
    colour: BLUE,
  },
  'a transition that the end of an animation begins': {
    html: '<u id="outer"><i id="inner"></i></u>',
    css: `#outer{color:#00f;animation:green 1s}@keyframes green{from{color:#0f0}}#inner{display:block;height:${EDGE}px;background:currentcolor;transition:color 1s,background 2s}`,
    colour: BLUE,
  },
  'a generated element': {
    html: '<i id="generated"></i>',
    css: `#generated::before{content:"";display:block;height:${EDGE}px;background:#f00;animation:blue 2s forwards}`,
    colour: BLUE,
  },
  'an animated colour of a drawing': { html: drawing(ANIMATE), colour: RED },
  'an animated place of a drawing': { html: drawing(SPIN), colour: RED },
  'a later value of a drawing': { html: drawing(SET), colour: RED },
  'styles of an image of a drawing': {
    html: inImage(encoded('image/svg+xml', drawing('', PULSE))),
    colour: RED,
  },
  'a drawing in an image': { html: inImage(base64('image/svg+xml', drawing(ANIMATE))), colour: RED },
  'a drawing in a background': {
    html: inBackground(encoded('image/svg+xml', drawing(ANIMATE))),
    colour: RED,
  },
  'styles of a drawing in a background': {
    html: inBackground(base64('image/svg+xml', drawing('', PULSE))),
    colour: RED,
  },
  'styles that end in a drawing in an image': {
    html: inImage(encoded('image/svg+xml', drawing('', TURN_BLUE))),
    colour: BLUE,
  },
  'a drawing in an object': {
    html: `<object data="${encoded('image/svg+xml', drawing(ANIMATE, PULSE))}"></object>`,
    colour: RED,
  },
  'a document in a frame': {
    html: inFrame(
      encoded(
        'text/html',
        `<style>html{background:#f00;animation:b 2s forwards}@keyframes b{to{background:#00f}}`,
      ),
    ),
    colour: BLUE,
  },
  'a GIF': { html: inImage(gif), colour: RED },
  'a WebP': { html: inImage(webp), colour: RED },
  'an APNG': { html: inImage(apng), colour: RED },
  'a GIF in a background': { html: inBackground(gif), colour: RED },
  'an image in a drawing': {
    html: `<svg width="${EDGE}" height="${EDGE}"><image href="${webp}" width="${EDGE}" height="${EDGE}"/></svg>`,
    colour: RED,
  },
  'a marquee': {
    html: `<marquee scrollamount="20"><i class="wide"></i></marquee>`,
    css: `.wide{display:block;width:${EDGE}px;height:${EDGE}px;background:#f00}`,
    colour: RED,
  },
};

const names = Object.keys(MOVING);
/** A page with all of them, each in its own square, from left to right. */
const ALL = {
  width: names.length * EDGE,
  height: EDGE,
  html: Object.values(MOVING)
    .map(({ html }, index) => `<div style="left:${index * EDGE}px">${html}</div>`)
    .join(''),
  css: `div{position:absolute;top:0;width:${EDGE}px;height:${EDGE}px;overflow:hidden}${KEYFRAMES}${Object.values(
    MOVING,
  )
    .map(({ css = '' }) => css)
    .join('')}`,
};
const FADE_IN = {
  width: 60,
  height: 60,
  html: '<div></div>',
  css: 'div{width:60px;height:60px;background:#f00;animation:a 2s forwards}@keyframes a{from{opacity:0}to{opacity:1}}',
};
const SPINNER = {
  width: 200,
  height: 100,
  html: '<p>{{ text }}</p>',
  css: 'p{font:30px sans-serif;animation:turn 1s linear infinite}@keyframes turn{to{rotate:1turn}}',
};
const TEMPLATES = { ALL, FADE_IN, SPINNER };

const server = await accountOf(await sharedServer());

t.test(
  'equal templates and data give equal bytes, whatever moves and however many threads draw',
  async (t) => {
    const settings = { REQUESTS_PER_MINUTE: '100000', RENDER_THREADS: '2' };
    const two = await accountOf(await startServer(t, { settings }));
    for (const [name, template] of Object.entries(TEMPLATES)) {
      const pictures = [...(await picturesOf(server, template)), ...(await picturesOf(two, template))];
      const different = new Set(pictures.map((bytes) => Buffer.from(bytes).toString('base64')));
      t.equal(different.size, 1, name);
    }
  },
);

t.test('what ends is drawn at its end, and all else before it moves', async (t) => {
  const [bytes = new Uint8Array()] = await picturesOf(server, ALL, 1);
  const picture = await rasterOf(bytes);
  for (const [index, name] of names.entries())
    t.same(picture.at(index * EDGE + EDGE / 2, EDGE / 2), MOVING[name]?.colour, name);
  const [first = new Uint8Array()] = await picturesOf(server, FADE_IN, 1);
  t.same((await rasterOf(first)).at(30, 30), RED);
});

t.test('an asset that moves is drawn as an embedded image is', async (t) => {
  const { key } = server;
  const upload = async (type: string, body: Uint8Array) =>
    (await server.call('/assets/upload', { key, type, body: new Uint8Array(body) })).json.data.id;
  const moving = await upload('image/webp', await joined().webp({ delay, lossless: true }).toBuffer());
  const styled = await upload('image/svg+xml', Buffer.from(drawing(ANIMATE, TURN_BLUE)));
  const html = `${inImage(`asset://${moving}`)}${inImage(`asset://${styled}`)}${inBackground(`asset://${styled}`)}`;
  const template = { width: EDGE, height: 3 * EDGE, html, css: `b{height:${EDGE}px!important}` };
  const pictures = await picturesOf(server, template);
  t.equal(new Set(pictures.map((bytes) => Buffer.from(bytes).toString('base64'))).size, 1);
  const picture = await rasterOf(pictures[0] ?? new Uint8Array());
  t.same(
    [20, 60, 100].map((y) => picture.at(20, y)),
    [RED, BLUE, BLUE],
  );
});

t.test('an AVIF that moves is drawn as the same picture each time', needsImages(t), async (t) => {
  const html = inImage(base64('image/avif', image('animated/colors-animated.avif')));
  const pictures = await picturesOf(server, { width: EDGE, height: EDGE, html, css: '' });
  t.equal(new Set(pictures.map((bytes) => Buffer.from(bytes).toString('base64'))).size, 1);
});

type Drawing = TestServer & { key: string };

async function accountOf(server: TestServer): Promise<Drawing> {
  return { ...server, key: (await server.account()).key };
}

/** Pictures of one template, drawn some at once and at moments that differ. */
async function picturesOf(
  { call, key }: Drawing,
  template: typeof ALL,
  count = PICTURES,
): Promise<Uint8Array[]> {
  const created = await call('/templates', { key, json: { name: 'moving', ...template } });
  const json = { templateId: created.json.data.id, data: { text: 'still' } };
  const pictures: Uint8Array[] = [];
  for (let drawn = 0; drawn < count; drawn += AT_ONCE) {
    const round = Array.from({ length: Math.min(AT_ONCE, count - drawn) }, async () => {
      const { status, bytes } = await call('/images/render', { key, json });
      if (status !== 200) throw new Error(`${status} ${bytes}`);
      return bytes;
    });
    pictures.push(...(await Promise.all(round)));
  }
  return pictures;
}
