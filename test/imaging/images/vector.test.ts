// needs: pixels, alone
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { LateWork } from '../../../src/imaging/images/pools/late-work.ts';
import { AccountWorkerTime } from '../../../src/imaging/images/pools/work-history.ts';
import { type RasterizedDrawing, Rasterizer } from '../../../src/imaging/images/vector.ts';
import { type Clock, systemClock } from '../../../src/platform/clock.ts';
import type { RequestedDrawingSize } from '../../../workers/vector/protocol.ts';
import { sanitizeSvg as sanitized } from '../../../workers/vector/sanitize.ts';
import { manualClock } from '../../support/clock.ts';
import { svgOf } from './files.ts';

const sanitize = (file: Uint8Array) => sanitized(file).text();
const forever = new AbortController().signal;

function open(t: Test, options: { clock?: Clock; memoryMegabytes?: number } = {}) {
  const { clock = systemClock, ...rest } = options;
  const rasterizer = new Rasterizer({
    timeoutMs: 60_000,
    memoryMegabytes: 2_048,
    limits: () => ({ calls: 8 }),
    clock,
    lateWork: new LateWork(clock),
    workerTime: new AccountWorkerTime({ clock, budgetMs: () => 60_000 }),
    onLost: () => {},
    ...rest,
  });
  t.teardown(() => rasterizer.close());
  const draw = (
    bytes: Uint8Array,
    size: RequestedDrawingSize = { density: 96 },
    signal = forever,
  ): Promise<RasterizedDrawing> =>
    rasterizer.draw({ bytes, size }, { accountId: 'acc', deadline: { signal, waitForSlot: (slot) => slot } });
  return { rasterizer, draw };
}

const RED = '<rect width="100%" height="100%" fill="#f00"/>';

t.test('pixels come back as they were drawn, one drawing after the other', async (t) => {
  const { draw } = open(t);
  for (const side of [3, 300, 1_000]) {
    const { width, height, pixels } = await draw(svgOf(side, 2, RED));
    t.same([width, height, pixels.length], [side, 2, side * 8]);
    t.same([...pixels.subarray(-4)], [255, 0, 0, 255]);
    t.equal(pixels.byteLength, pixels.buffer.byteLength, 'they own their memory');
  }
});

t.test('a drawing has a lower priority', { skip: process.platform !== 'linux' }, async (t) => {
  const { draw } = open(t);
  await draw(svgOf(3, 2, RED));
  const children = readdirSync('/proc').filter((pid) => parentOf(pid) === process.pid);
  const [drawer] = children.filter((pid) => /workers\/vector/.test(read(`/proc/${pid}/cmdline`)));
  t.ok(drawer, 'its process');
  const priority = Math.min(getPriority() + 10, 19);
  for (const thread of readdirSync(`/proc/${drawer}/task`))
    t.equal(getPriority(Number(thread)), priority, thread);
});

/** The text of a file of the kernel; empty for a process that has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function parentOf(pid: string): number {
  return Number(/^PPid:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1]);
}

t.test('the density is raised to the size asked for, whatever the units', async (t) => {
  const { draw } = open(t);
  const sizes = [
    { drawing: svgOf(100, 50), asked: { width: 777 } },
    { drawing: svgOf(313, 97), asked: { width: 777 } },
    { drawing: svgOf(313, 97), asked: { height: 33 } },
    { drawing: svgOf(10, 1_000), asked: { width: 100, height: 100 } },
    { drawing: svgOf('100mm', '50mm'), asked: { width: 1_000 } },
    { drawing: svgOf('3.7in', '1in'), asked: { height: 999 } },
  ];
  for (const { drawing, asked } of sizes) {
    const { width, height } = await draw(drawing, { atLeast: asked });
    const excess = Math.min(width - (asked.width ?? 0), height - (asked.height ?? 0));
    t.ok(excess >= 0 && excess <= 3, `${JSON.stringify(asked)} was drawn as ${width} × ${height}`);
  }
});

t.test('a drawing is refused above the limit, and drawn below it where a resize asks for more', async (t) => {
  const { draw } = open(t);
  await t.rejects(draw(svgOf(100_000, 50_000)), { code: 'unsupported_format', details: { received: 5e9 } });
  await t.rejects(draw(svgOf(1_000, 1_000), { density: 2_400 }), { code: 'unsupported_format' });
  const { width, height } = await draw(svgOf(1_000, 10), { atLeast: { width: 400_000 } });
  t.ok(width <= 32_767 && width > 32_000 && height === Math.round(width / 100), `${width} × ${height}`);
  await t.rejects(draw(svgOf(40_000, 10)), { code: 'unsupported_format', message: /32767 per side/ });
});

t.test('what does not parse, has no size or declares traps is refused', async (t) => {
  const { draw } = open(t);
  const laughs = '<!DOCTYPE svg [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>';
  const file = '<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]>';
  const remote = '<!DOCTYPE svg [<!ENTITY % a SYSTEM "http://127.0.0.1/x.dtd">%a;]>';
  const drawings = ['<svg', '<svg xmlns="http://www.w3.org/2000/svg" width="0" height="0"/>'];
  const hidden = '<!DOCTYPE svg [<!ENTITY a "]"><!ENTITY b SYSTEM "file:///etc/passwd">]>';
  for (const trap of [laughs, file, remote, hidden]) drawings.push(`${trap}${svgOf(1, 1)}`);
  for (const drawing of drawings)
    await t.rejects(draw(Buffer.from(drawing)), { code: 'unsupported_format' }, drawing);
});

t.test('entities that stand for text, and encodings, are read', async (t) => {
  const { draw } = open(t);
  const named = '<!DOCTYPE svg [<!ENTITY colour "#f00">]>';
  const rect = '<rect width="9" height="9" fill="&colour;"/>';
  const utf8 = Buffer.from(`${named}${svgOf(2, 2, rect)}`);
  const latin1 = Buffer.from(
    `<?xml version="1.0" encoding="ISO-8859-1"?>${named}${svgOf(2, 2, `<!--\xe9-->${rect}`)}`,
    'latin1',
  );
  const utf16 = Buffer.from(
    `\ufeff<?xml version="1.0" encoding="UTF-16"?>${named}${svgOf(2, 2, rect)}`,
    'utf16le',
  );
  const late = Buffer.from(`<!--${'-x'.repeat(700)}-->${named}<!--${'x'.repeat(700)}-->${svgOf(2, 2, rect)}`);
  for (const drawing of [utf8, latin1, utf16, late])
    t.same([...(await draw(drawing)).pixels.subarray(0, 4)], [255, 0, 0, 255]);
});

/** Every way to name something outside a drawing, with the place of its canary filled in. */
function waysOut(address: string): string[] {
  const escaped = [...address].map((letter) => `&#${letter.codePointAt(0)};`).join('');
  const nested = Buffer.from(svgOf(9, 9, `<image href="${address}" width="9" height="9"/>`)).toString(
    'base64',
  );
  return [
    `<image href="${address}" width="9" height="9"/>`,
    `<image xlink:href='${address}' width="9" height="9"/>`,
    `<image  xlink:href = "${escaped}" width="9" height="9"/>`,
    `<image href="data:image/svg+xml;base64,${nested}" width="9" height="9"/>`,
    `<use href="${address}#a"/>`,
    `<filter id="f"><feImage href="${address}"/></filter><rect width="9" height="9" filter="url(#f)"/>`,
    `<rect width="9" height="9" fill="url(${address}#a)"/>`,
    `<rect width="9" height="9" style="filter: url( '${address}#f' )"/>`,
    `<rect width="9" height="9" mask="u&#114;l(${address}#a)"/>`,
    `<style>@import url("${address}"); @import '${address}';</style>`,
    `<style>rect { fill: url(${address}#a) } @\\69mport "${address}";</style><rect width="9" height="9"/>`,
    `<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="${address}" parse="text"/>`,
    `<text><xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="${address}" parse="text"/></text>`,
    `<a xmlns:l="http://www.w3.org/1999/xlink" l:href="${address}"><image l:href="${address}" width="9" height="9"/></a>`,
    `<script href="${address}"/><script>fetch("${address}")</script>`,
    `<?xml-stylesheet href="${address}" type="text/css"?>`,
  ];
}

async function canary(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'drawing-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const path = join(folder, 'canary.png');
  const seen = await sharp({ create: { width: 9, height: 9, channels: 3, background: '#0f0' } })
    .png()
    .toBuffer();
  await writeFile(path, seen);
  let calls = 0;
  const server = createServer((_request, response) => {
    calls += 1;
    response.end(seen);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const remote = `http://127.0.0.1:${(server.address() as AddressInfo).port}/canary.png`;
  return { addresses: [remote, pathToFileURL(path).href, path], calls: () => calls };
}

/** The canary is green, and nothing else is. */
function showsCanary(pixels: Uint8Array): boolean {
  for (let at = 0; at < pixels.length; at += 4) {
    if (pixels[at] === 0 && pixels[at + 1] === 255 && pixels[at + 2] === 0 && pixels[at + 3] === 255)
      return true;
  }
  return false;
}

t.test('nothing outside of a drawing is ever loaded', async (t) => {
  const { draw } = open(t);
  const { addresses, calls } = await canary(t);
  for (const way of addresses.flatMap(waysOut)) {
    const { pixels } = await draw(svgOf(9, 9, way));
    t.notOk(showsCanary(pixels), way);
  }
  t.equal(calls(), 0);
});

t.test('the renderer alone would load nothing either', async (t) => {
  const { addresses, calls } = await canary(t);
  for (const way of addresses.flatMap(waysOut)) {
    const pixels = await sharp(svgOf(9, 9, way))
      .ensureAlpha()
      .raw()
      .toBuffer();
    t.notOk(showsCanary(pixels), way);
  }
  t.equal(calls(), 0);
});

t.test('what a drawing carries itself is drawn', async (t) => {
  const { draw } = open(t);
  const green = await sharp({ create: { width: 9, height: 9, channels: 3, background: '#0f0' } })
    .png()
    .toBuffer();
  const carried = `<image xlink:href="data:image/png;base64,${green.toString('base64')}" width="9" height="9"/>`;
  const inner = [
    carried,
    '<g id="g"/><defs><rect id="r" width="9" height="9" fill="#0f0"/></defs><use href="#r"/>',
    '<linearGradient id="l"><stop stop-color="#0f0"/></linearGradient><rect width="9" height="9" fill="url(#l)"/>',
    `<linearGradient id="l"><stop stop-color="#0f0"/></linearGradient><style>rect { fill: url("#l") }</style><rect width="9" height="9"/>`,
  ];
  for (const drawing of inner) t.ok(showsCanary((await draw(svgOf(9, 9, drawing))).pixels), drawing);
});

t.test('text that only looks like a reference stays', async (t) => {
  const words = 'see href="http://example.org" there';
  t.match(sanitize(svgOf(9, 9, `<text>${words}</text>`)), words);
});

t.test('a text made to be read over and over is read once', async (t) => {
  const names = [
    '<a ',
    '<a "',
    "<a '",
    'url(',
    '@import',
    '<?',
    '<!DOCTYPE [',
    '<!--',
    '<include ',
    'a',
    ' ',
    '&a',
    'href=',
  ];
  for (const name of names) {
    const text = `<svg ${name.repeat(300_000)}`;
    sanitizeOrRefuse(Buffer.from(text));
    sanitizeOrRefuse(Buffer.from(text.slice('<svg '.length)));
  }
  t.pass('within the time that the test has');
});

function sanitizeOrRefuse(drawing: Uint8Array): void {
  try {
    sanitize(drawing);
  } catch {
    // A refusal is an answer too.
  }
}

/** `<use>` of `<use>`: ten to the thirtieth rectangles. */
const NEST = `<g id="n0"><rect width="1" height="1"/></g>${Array.from(
  { length: 30 },
  (_, level) => `<g id="n${level + 1}">${`<use xlink:href="#n${level}"/>`.repeat(10)}</g>`,
).join('')}`;
const TURBULENCE =
  '<filter id="f"><feTurbulence baseFrequency="0.01" numOctaves="5000"/></filter><rect width="4000" height="4000" filter="url(#f)"/>';

t.test('a drawing without end is killed at its deadline, and the next one finds a new process', async (t) => {
  const clock = manualClock();
  const { draw } = open(t, { clock });
  for (const bomb of [TURBULENCE, NEST]) {
    const drawing = draw(svgOf(4_000, 4_000, bomb));
    const behind = draw(svgOf(2, 2, RED));
    clock.advance(60_000);
    // The time of a drawing begins when its process has started.
    await clock.nextTimer();
    clock.advance(60_000);
    await t.rejects(drawing, {
      code: 'provider_unavailable',
      status: 503,
      details: { reason: 'deadline_exceeded' },
    });
    t.match(await behind, { width: 2 });
  }
});

t.test('a client that goes away ends its drawing', async (t) => {
  const { draw, rasterizer } = open(t);
  const client = new AbortController();
  const drawing = draw(svgOf(4_000, 4_000, TURBULENCE), { density: 96 }, client.signal);
  await new Promise(setImmediate);
  client.abort(new Error('gone'));
  await t.rejects(drawing, { message: 'gone' });
  await rasterizer.close();
});

t.test('a drawing that eats memory is refused, and the machine never notices', async (t) => {
  const { draw } = open(t, { memoryMegabytes: 1_024 });
  const blurs = Array.from({ length: 9 }, (_, index) => `<g filter="url(#b)" opacity="0.${index + 1}">`);
  const greedy = `<filter id="b"><feGaussianBlur stdDeviation="9"/></filter>${blurs.join('')}${RED}${'</g>'.repeat(9)}`;
  await t.rejects(draw(svgOf(7_000, 7_000, greedy)), { code: 'unsupported_format' });
  t.match(await draw(svgOf(2, 2, RED)), { width: 2 });
});

t.test('no style spells an address by comments, escapes or what the fence takes out', async (t) => {
  const styles = [
    'rect { fill: ur<!-- -->l(http://a.example/b#c) }',
    'rect { fill: u\\72l(http://a.example/b#c) }',
    'rect { fill: \\75 r\\l(http://a.example/b#c) }',
    '<![CDATA[@imp]]>ort "http://a.example/b.css";',
    '@\\69mport "http://a.example/b.css";',
    '@imp@import "x";ort "http://a.example/b.css";',
    '<g>@import "http://a.example/b.css";</g>',
  ];
  for (const style of styles) {
    const written = sanitize(svgOf(9, 9, `<style>${style}</style><rect width="9" height="9"/>`));
    t.notMatch(written, /url\(http|@import|<!--/, style);
    t.match(written, '<rect width="9" height="9"/>');
  }
});

t.test('what is written again says the same', async (t) => {
  const text = '<text>a &lt;b&gt; &amp;amp; "c"<![CDATA[ & <d> ]]></text>';
  t.match(sanitize(svgOf(9, 9, text)), '<text>a &#60;b&#62; &#38;amp; "c" &#38; &#60;d&#62; </text>');
  const values = `<g id='a"b&#10;c' style="fill: url(#a); stroke: url(x.png)"/>`;
  t.match(sanitize(svgOf(9, 9, values)), '<g id="a&#34;b&#10;c" style="fill: url(#a); stroke: none"/>');
  const deep = '<a:b:href a:b:href="http://elsewhere.invalid/"/><a:b:include><g/></a:b:include>';
  t.match(sanitize(svgOf(9, 9, deep)), '<a:b:href a:b:href=""/><g/></svg>', 'behind any prefix');
});

t.test('entities that unfold to more than a drawing has are refused', async (t) => {
  const entity = `<!DOCTYPE svg [<!ENTITY a "${'x'.repeat(100_000)}">]>`;
  const drawing = svgOf(9, 9, `<desc>${'&a;'.repeat(10_000)}</desc>`);
  t.throws(() => sanitize(Buffer.concat([Buffer.from(entity), drawing])), /unfold/);
  t.match(sanitize(Buffer.from(`<!DOCTYPE svg [<!ENTITY a "words">]><svg>&a;</svg>`)), '>words</svg>');
});

t.test('text that is no well-formed XML is refused', async (t) => {
  for (const text of [
    '<svg',
    '<svg><g></svg>',
    '<svg a=1/>',
    '<svg>&unknown;</svg>',
    'words',
    '<svg/><svg/>',
  ])
    t.throws(() => sanitize(Buffer.from(text)), text);
});
