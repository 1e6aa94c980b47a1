// needs: browser
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { manualClock } from '../../support/clock.ts';
import { openTestRenderer, type Pixel, swatch, swatchAsset } from './test-renderer.ts';

const RED: Pixel = [255, 0, 0, 255];
const LIME: Pixel = [0, 255, 0, 255];
const NOTHING: Pixel = [0, 0, 0, 0];

const renderer = openTestRenderer(t);
/** A page is emptied when nobody draws on it for so long. */
const REST_MS = 100;
const ROUNDS_AT_REST = 20;
const bare = '<!doctype html><body style="margin:0">';

t.test('a page is drawn in its colours, and transparent where it paints nothing', async (t) => {
  const picture = await renderer.draw(`${bare}<div style="width:50px;height:50px;background:red"></div>`);
  t.same(picture.pixel(0, 0), RED);
  t.same(picture.pixel(49, 49), RED);
  t.same(picture.pixel(50, 50), NOTHING);
  t.same(picture.pixel(199, 99), NOTHING);
});

t.test('half transparent paint keeps its alpha', async (t) => {
  const picture = await renderer.draw(
    `${bare}<div style="height:100px;background:rgb(255 0 0 / 50%)"></div>`,
  );
  const [red, green, blue, alpha] = picture.pixel(100, 50);
  t.ok(red >= 253 && green === 0 && blue === 0, 'the colour is not darkened');
  t.ok(Math.abs(alpha - 128) <= 1);
});

t.test('the size is exact', async (t) => {
  const sizes = [
    [1, 1],
    [1, 4096],
    [4096, 1],
    [7, 13],
    [499, 501],
    [1200, 630],
    [4096, 4096],
  ] as const;
  for (const [width, height] of sizes) {
    const html = `<meta name="viewport" content="width=333">${bare}<div style="position:fixed;inset:0;background:red"></div>`;
    const picture = await renderer.draw(html, { width, height });
    t.same([picture.width, picture.height], [width, height]);
    t.same(picture.pixel(width - 1, height - 1), RED, `${width} × ${height} is painted to its corner`);
  }
});

t.test('a page that is larger than its size is cut, without scroll bars', async (t) => {
  const picture = await renderer.draw(
    `${bare}<div style="width:3000px;height:3000px;background:lime"></div>`,
  );
  t.same([picture.width, picture.height], [200, 100]);
  t.same(picture.pixel(199, 99), LIME);
});

t.test('text is drawn', async (t) => {
  const picture = await renderer.draw(`${bare}<p style="font:bold 60px sans-serif;margin:0">Darkroom</p>`);
  t.ok(picture.some(([r, g, b, a]) => r + g + b === 0 && a === 255));
  const empty = await renderer.draw(bare);
  t.notOk(empty.some(([, , , a]) => a > 0));
});

t.test('an emoji has colours of its own', async (t) => {
  const picture = await renderer.draw(
    `${bare}<p style="font:60px sans-serif;margin:0;color:black">\u{1F34E}</p>`,
  );
  if (!picture.some(([r, g, b, a]) => a === 255 && r > 150 && g < 90 && b < 90)) {
    t.equal(process.env.CI, undefined, 'this machine has no emoji font');
    t.pass('emoji', { skip: 'this machine has no emoji font' });
  }
});

t.test('a gradient runs from one end to the other', async (t) => {
  const picture = await renderer.draw(
    `${bare}<div style="height:100px;background:linear-gradient(90deg,#000,#fff)"></div>`,
  );
  const greys = [5, 50, 100, 150, 195].map((x) => picture.pixel(x, 50)[0]);
  t.same(
    greys,
    [...greys].sort((a, b) => a - b),
  );
  t.ok(Math.abs((greys[2] ?? 0) - 128) < 4);
});

t.test('an image in a data: address is drawn, in a tag and in a style', async (t) => {
  const source = `data:image/png;base64,${(await swatch('#00ff00')).toString('base64')}`;
  const picture = await renderer.draw(
    `${bare}<img src="${source}" width="100" height="100" style="float:left"><div style="background:url(${source});height:100px"></div>`,
  );
  t.same(picture.pixel(50, 50), LIME);
  t.same(picture.pixel(150, 50), LIME);
});

t.test('a large image is decoded before the page is captured', async (t) => {
  const source = `data:image/png;base64,${(await swatch('#00ff00', 3000)).toString('base64')}`;
  const lazily = `<img src="${source}" loading="lazy" decoding="async" width="200" height="100">`;
  t.same((await renderer.draw(bare + lazily)).pixel(100, 50), LIME);
});

t.test(
  'a picture, a drawing and a document in a data: address are drawn in frames and objects',
  async (t) => {
    const addressOf = (type: string, text: string) => `data:${type},${encodeURIComponent(text)}`;
    const image = `data:image/png;base64,${(await swatch('#00ff00', 200)).toString('base64')}`;
    const drawing = addressOf(
      'image/svg+xml',
      '<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100"><rect id="r" width="200" height="100" fill="lime"/><script>document.getElementById("r").setAttribute("fill","red")</script></svg>',
    );
    const document = addressOf(
      'text/html',
      '<body style="margin:0;background:lime"><script>document.body.style.background="red"</script>',
    );
    for (const address of [image, drawing, document]) {
      for (const frame of [
        `<object data="${address}" width="200" height="100"></object>`,
        `<embed src="${address}" width="200" height="100">`,
        `<iframe src="${address}" width="200" height="100" style="border:0"></iframe>`,
      ]) {
        const picture = await renderer.draw(bare + frame);
        t.same([picture.pixel(20, 20), picture.pixel(150, 80)], [LIME, LIME], frame.slice(0, 60));
      }
    }
    t.notOk(
      (await renderer.draw(bare)).some(([, , , a]) => a > 0),
      'nothing of a frame is left',
    );
  },
);

t.test('a style sheet in a data: address applies', async (t) => {
  const picture = await renderer.draw(
    `<link rel="stylesheet" href="data:text/css,html{background:lime}">${bare}`,
  );
  t.same(picture.pixel(100, 50), LIME);
});

t.test('assets of the task are drawn from memory', async (t) => {
  const assets = { ast_red: await swatchAsset('#ff0000'), ast_lime: await swatchAsset('#00ff00') };
  const picture = await renderer.draw(
    `${bare}<style>div{width:50px;height:100px;float:left}</style>
    <img src="asset://ast_red" style="width:50px;height:100px;float:left">
    <div style="background:url('asset://ast_lime')"></div>
    <div style="background:red;mask-image:url(asset://ast_lime)"></div>
    <svg width="50" height="100"><image href="asset://ast_lime" width="50" height="100" preserveAspectRatio="none"/></svg>`,
    { assets },
  );
  t.same(
    [25, 75, 125, 175].map((x) => picture.pixel(x, 50)),
    [RED, LIME, RED, LIME],
  );
});

t.test('an asset that the task does not carry is not drawn, whoever drew it before', async (t) => {
  const assets = { ast_red: await swatchAsset('#ff0000') };
  const page = `${bare}<img src="asset://ast_red" width="200" height="100">
    <img src="http://page.darkroom.invalid/assets/ast_red" width="200" height="100">`;
  t.same((await renderer.draw(page, { assets, accountId: 'acc_owner' })).pixel(100, 50), RED);
  for (const accountId of ['acc_owner', 'acc_stranger']) {
    const picture = await renderer.draw(page, { accountId });
    t.notOk(
      picture.some(([r, g, b]) => r > 200 && g < 90 && b < 90),
      accountId,
    );
  }
});

t.test('nothing of a page is left in the next one', async (t) => {
  const card = `<html><body><h1>A card</h1><p>with text, <a href="#">a link</a> and <input value="x"></p>
    <dialog>closed</dialog><i style="--x:1">x</i><div style="height:3000px;background:linear-gradient(red,lime)">`;
  const reference = await renderer.draw(card, { accountId: 'acc_fresh' });
  for (const page of [
    `<base href="http://elsewhere.invalid/"><meta http-equiv="Content-Security-Policy" content="style-src 'none'">`,
    `<meta charset="utf-8" http-equiv="Content-Security-Policy" content="style-src 'none'">`,
    '<META name="color-scheme" content="dark">',
    '<meta http-equiv="refresh" content="1"><meta name="referrer" content="unsafe-url">',
    '<style>:root{color-scheme:dark;zoom:3;font-size:90px;writing-mode:vertical-rl;scroll-behavior:smooth}</style>',
    '<style>@font-face{font-family:serif;src:local(monospace)}@property --x{syntax:"<color>";inherits:true;initial-value:red}</style>',
    '<style>html{scroll-behavior:smooth}</style><div style="height:9000px"></div><input autofocus>',
    '<!doctype html><div style="height:9000px"></div><p id="x" tabindex="0" autofocus>x',
    '<dialog open>x</dialog><div popover>y</div><details open>z</details>',
    '<style>@keyframes k{to{transform:rotate(1turn)}}html{animation:k 1ms infinite}</style>',
    '<frameset><frame></frameset>',
    '<plaintext>',
    '<!-- <script> <style> never closed',
    '<html lang="ar" dir="rtl"><body bgcolor="red" text="lime" link="blue" onload="x">',
  ]) {
    await renderer.draw(page);
    const next = await renderer.draw(card);
    t.ok(next.raw.equals(reference.raw), page);
  }
});

t.test('many accounts take turns in one browser', async (t) => {
  for (let turn = 0; turn < 12; turn += 1) {
    const accountId = `acc_${turn % 6}`;
    const picture = await renderer.draw(
      `${bare}<div style="height:100px;background:rgb(${turn * 20},0,0)"></div>`,
      {
        accountId,
      },
    );
    t.same(picture.pixel(100, 50), [turn * 20, 0, 0, 255]);
  }
});

t.test('a page that comes just as the last one is put away is drawn whole', async (t) => {
  const clock = manualClock();
  const renderer = openTestRenderer(t, { clock });
  for (let round = 0; round < ROUNDS_AT_REST; round += 1) {
    clock.advance(REST_MS);
    // Emptying takes some milliseconds of the browser: the page comes at once, or up to some thousand turns later.
    for (let turn = 4 ** (round % 7); turn > 1; turn -= 1) await nextTurn();
    const picture = await renderer.draw(
      `${bare}<div style="height:100px;background:lime"></div>${'<p>x'.repeat(300)}`,
    );
    t.same(picture.pixel(100, 50), LIME);
  }
});
