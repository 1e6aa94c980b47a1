// needs: nothing, alone
import t from 'tap';
import { readImageHeader } from '../../../src/imaging/images/header/header.ts';
import type { RequestedDrawingSize } from '../../../workers/vector/protocol.ts';
import { rasterizeSvg } from '../../../workers/vector/rasterize.ts';
import { caseFile, needsCases } from '../../support/cases.ts';

const FULL = '<rect width="100%" height="100%" fill="#f00"/>';
const svg = (root: string, content = FULL) =>
  new TextEncoder().encode(`<svg xmlns="http://www.w3.org/2000/svg" ${root}>${content}</svg>`);

/** A drawing as pixels, with the count of opaque ones. */
async function drawn(input: Uint8Array, size: RequestedDrawingSize = { density: 96 }) {
  const made = await rasterizeSvg({ input, size, maxPixels: 50_000_000 });
  if (!('pixels' in made)) throw new Error(made.message);
  const { width, height, naturalWidth, naturalHeight } = made;
  let opaque = 0;
  for (let at = 3; at < made.pixels.length; at += 4) if (made.pixels[at] === 255) opaque += 1;
  return { size: [width, height], natural: [naturalWidth, naturalHeight], opaque: opaque / (width * height) };
}

const INCHES = ['1in', '2.54cm', '25.4mm', '101.6Q', '72pt', '6pc', '6em', '12ex', '96px', '96', '9.6e1'];

t.test('an inch is 96 pixels in every unit, for the size and inside, at any density once', async (t) => {
  for (const inch of INCHES) {
    const root = svg(`width="${inch}" height="${inch}"`);
    t.match(readImageHeader(root), { width: 96, height: 96 }, inch);
    for (const density of [1, 48, 72, 96, 150, 300]) {
      const whole = { size: [density, density], natural: [96, 96], opaque: 1 };
      t.same(await drawn(root, { density }), whole, `${inch} at ${density}`);
    }
    const px = /\d$/.test(inch) ? `${Number(inch)}px` : inch;
    const contents = [
      `<rect width="${inch}" height="9in"/>`,
      `<style>rect { height: 9in; width:${px} }</style><rect/>`,
      `<rect style="width: ${px};height:9in"/>`,
      `<path d="M0 96H192" stroke="#000" stroke-width="${inch}"/>`,
      `<path d="M0 96H192" style="stroke:#000;stroke-width:${px}"/>`,
      `<path d="M0 96H192" stroke="#000" stroke-width="192" stroke-dasharray="${inch} 9in"/>`,
      `<path d="M0 96H192" stroke="#000" stroke-width="192" stroke-dasharray="0 ${inch} 9in"/>`,
    ];
    for (const content of contents) {
      for (const box of ['', 'viewBox="0 0 192 192"']) {
        const { opaque } = await drawn(svg(`width="2in" height="2in" ${box}`, content), { density: 192 });
        t.equal(opaque, 0.5, `${box} ${content}`);
      }
    }
  }
});

t.test('units that the renderer does not know are those of the root', async (t) => {
  const half = async (root: string, content: string) => (await drawn(svg(root, content))).opaque;
  const roots: [root: string, ...lengths: string[]][] = [
    ['width="192" height="192"', '6rem', '6REM', '50vw', '50vh', '50vmin', '50vmax'],
    ['width="192" height="192" font-size="24"', '4rem'],
    ['width="192" height="192" style="font-size:24px"', '4rem'],
    ['width="8rem" height="8rem" font-size="1.5rem"', '4rem', '4em', '50vw'],
    ['width="8em" height="8em" style="font-size: 1.5em; fill: red"', '4rem', '4em', '50vh'],
    ['viewBox="0 0 192 192" width="1in"', '6rem', '50vw'.replace('50', '100')],
    ['width="384" height="192"', '12rem', '50vw', '100vh', '100vmin', '50vmax'],
  ];
  for (const [root, ...lengths] of roots) {
    for (const length of lengths) {
      for (const content of [
        `<rect width="${length}" height="9in"/>`,
        `<rect style="height:9in;width:${length}"/>`,
        `<style>rect{width:${length};height:9in}</style><rect/>`,
        `<g font-size="99"><rect width="${length}" height="9in"/></g>`.replace(/99(?=.*\dem)/, '24'),
      ])
        t.equal(await half(root, content), 0.5, `${root} ${content}`);
    }
  }
  const inner = `<svg xmlns="http://www.w3.org/2000/svg" width="3rem" height="6rem" font-size="32">${FULL}</svg>`;
  const address = `data:image/svg+xml;base64,${Buffer.from(inner).toString('base64')}`;
  const laid = `<image width="96" height="192" href="${address}"/>`;
  t.equal(await half('width="192" height="192" font-size="8"', laid), 0.5, 'a drawing inside has its own');
});

t.test('text has the size of its unit', async (t) => {
  const letters = (size: string) => svg('width="300" height="100"', `<text y="80" ${size}>MMM</text>`);
  const { opaque } = await drawn(letters('font-size="16px"'));
  t.ok(opaque > 0);
  const same = ['font-size="12pt"', 'style="font-size:1pc"', 'font-size="16.933333Q"', 'font-size="1em"', ''];
  for (const size of same) t.equal((await drawn(letters(size))).opaque, opaque, size);
});

t.test('the size of a root is read as a renderer reads it', async (t) => {
  const sizes: [root: string, width: number, height: number][] = [
    ['width="210mm" height="297mm" viewBox="0 0 210 297"', 794, 1123],
    ['width="10em" height="5em" font-size="20"', 200, 100],
    ['width="9" height="9" style="fill:red; width: 10em;height:1in; font-size:15pt"', 200, 96],
    ['viewBox="0 0 40 20"', 40, 20],
    ['viewBox="0,0,40,20" width="1in"', 96, 48],
    ['viewBox="0 0 40 20" height="1in" width="100%"', 192, 96],
    ['width="50%" height="50%" viewBox="0 0 40 20"', 40, 20],
    ['width="0.3" height="0.2" viewBox="0 0 3 2"', 1, 1],
  ];
  for (const [root, width, height] of sizes) {
    t.match(readImageHeader(svg(root)), { width, height }, root);
    t.same(await drawn(svg(root)), { size: [width, height], natural: [width, height], opaque: 1 }, root);
  }
  const byContent: [root: string, content: string, width: number, height: number][] = [
    ['', '<rect width="5" height="7"/>', 5, 7],
    ['', '<rect width="1in" height="2in"/>', 96, 192],
    ['', `<style>svg { width: 1in; height: 50px }</style>${FULL}`, 96, 50],
    ['width="1e300" height="1e300"', '<rect width="5" height="7"/>', 5, 7],
  ];
  for (const [root, content, width, height] of byContent) {
    const file = svg(root, content);
    t.match(readImageHeader(file), { width: 0, height: 0 });
    t.same((await drawn(file)).size, [width, height], content);
    t.same((await drawn(file, { density: 192 })).size, [2 * width, 2 * height], content);
  }
});

t.test('a size is drawn to the edges, whatever the units and the shape of the viewBox', async (t) => {
  const shapes = ['width="210mm" height="297mm"', 'width="210mm" height="297mm" viewBox="0 0 210 297"'];
  for (const root of [...shapes, 'viewBox="0 0 20 10.3"', 'width="3.7in" height="1in"']) {
    for (const width of [7, 300, 1_240]) {
      const { size, opaque } = await drawn(svg(root), { atLeast: { width } });
      t.equal(size[0], width, root);
      t.equal(opaque, 1, `${root} at ${width}`);
    }
  }
  t.same((await drawn(svg(shapes[0] ?? ''), { density: 150 })).size, [1_240, 1_754]);
  const band = await drawn(svg('width="100" height="100" viewBox="0 0 100 50"'));
  t.equal(band.opaque, 0.5, 'a viewBox of another shape keeps it');
});

t.test('what is drawn counts against the limit, and not the natural size', async (t) => {
  const huge = svg('viewBox="0 0 1000000 500000"');
  const natural = [1_000_000, 500_000];
  t.same(await drawn(huge, { atLeast: { width: 300 } }), { size: [300, 150], natural, opaque: 1 });
  t.same((await drawn(huge, { density: 0.096 })).size, [1_000, 500]);
  const shrunk = await drawn(svg('width="1e6" height="1"'), { density: 96, mayShrink: true });
  t.match(shrunk, { size: [32_734, 1], natural: [1_000_000, 1] });
  const message = /begin with a resize.*or send a density of at most 47\b/;
  await t.rejects(drawn(svg('width="20000" height="10000"'), { density: 96 }), { message });
  await t.rejects(drawn(huge), { message: /begin with a resize/ });
  const tiny = svg('viewBox="0 0 0.02 0.01"');
  t.same(await drawn(tiny, { atLeast: { width: 400 } }), { size: [400, 200], natural: [1, 1], opaque: 1 });
});

t.test('a viewBox may be as small as it likes', async (t) => {
  for (const side of [1, 0.01, 0.0039, 0.0001, 1e-6]) {
    const contents = [
      `<rect x="${side}" width="${side}" height="${side}"/>`,
      `<path d="M${side} 0h${side}v${side}h-${side}z"/>`,
      `<path d="M${side} ${side / 2}h${side}" stroke="#000" stroke-width="${side}"/>`,
    ];
    for (const content of contents) {
      for (const root of [`viewBox="0 0 ${2 * side} ${side}"`, `viewBox="${side},0,${side},${side}"`]) {
        const { opaque } = await drawn(svg(root, content), { atLeast: { width: 200 } });
        t.equal(opaque, root.includes(',') ? 1 : 0.5, `${root} ${content}`);
        const sized = await drawn(
          svg(`width="200" height="100" preserveAspectRatio="none" ${root}`, content),
        );
        t.equal(sized.opaque, root.includes(',') ? 1 : 0.5, `${root} ${content} in a size`);
      }
    }
  }
  const prefixed = `<s:svg xmlns:s="http://www.w3.org/2000/svg" viewBox="0 0 0.0001 0.0001"><s:path d="M0 0h1v1h-1z"/></s:svg>`;
  t.equal((await drawn(new TextEncoder().encode(prefixed), { atLeast: { width: 50 } })).opaque, 1);
});

t.test('the size of a drawing cannot be declared past the one that is drawn', async (t) => {
  const large = '5000px!important';
  const roots = [
    [`style="width:${large};height:${large};width:40px;height:20px"`, FULL],
    ['width="40" height="20"', `<style>svg { width: ${large}; height: ${large} }</style>${FULL}`],
    ['width="40" height="20" style="fill:url(("', FULL],
  ] as const;
  for (const [root, content] of roots) {
    const { size } = await drawn(svg(root, content), { atLeast: { width: 40 } });
    t.ok((size[0] ?? 0) <= 40, `${root} ${content}: ${size}`);
  }
});

t.test('a long number is read once', async (t) => {
  const digits = '1'.repeat(60_000);
  for (const width of [digits, `.${digits}`, `1e${digits}`, ' '.repeat(60_000), `${digits}.${digits}x`]) {
    readImageHeader(svg(`width="${width}" style="width:${width}"`));
    await drawn(svg('width="9" height="9"', `<rect width="${width.repeat(20)}" height="9"/>${FULL}`));
  }
  t.pass('within the time that the test has');
});

t.test('the cases are drawn right', needsCases(t), async (t) => {
  const whole = (side: number, natural: number) => ({
    size: [side, side],
    natural: [natural, natural],
    opaque: 1,
  });
  t.same(await drawn(caseFile('svg-inch.svg')), whole(96, 96));
  t.same(await drawn(caseFile('svg-one-inch.svg'), { density: 300 }), whole(300, 96));
  t.same(await drawn(caseFile('svg-prefixed.svg')), whole(40, 40));
  t.same(await drawn(caseFile('svg-nested-svg.svg')), whole(40, 40));
});
