// needs: server
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { serve } from '../../platform/outbound/listener.ts';
import { caseFile, needsCases } from '../../support/cases.ts';
import { openCalls, pictureOf, refusalOf } from './calls.ts';

const calls = await openCalls(t, { OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
const TYPE = 'image/svg+xml';
const FULL = '<rect width="100%" height="100%" fill="#f00"/>';
const svg = (root: string, content = FULL) =>
  new TextEncoder().encode(`<svg xmlns="http://www.w3.org/2000/svg" ${root}>${content}</svg>`);
const PAGE = svg('width="210mm" height="297mm"');
const HUGE = svg('viewBox="0 0 100000 50000"');

/** The size of a transform of a drawing; all of it must be red. */
async function sizeOf(query: object, file: Uint8Array): Promise<[width: number, height: number]> {
  const { width, height, data } = await pictureOf(
    await calls.transform({ format: 'png', ...query }, file, TYPE),
  );
  const at = (pixel: number) => [...data.subarray(pixel * 4, pixel * 4 + 4)];
  for (const pixel of [0, width - 1, width * height - 1]) t.same(at(pixel), [255, 0, 0, 255]);
  return [width, height];
}

t.test('a page in millimetres has its size at 96 dots per inch, and at any density once', async (t) => {
  t.same(await sizeOf({ op: 'convert' }, PAGE), [794, 1_123]);
  t.same(await sizeOf({ op: 'convert', density: 150 }, PAGE), [1_240, 1_754]);
  t.same(await sizeOf({ op: 'convert', density: 1 }, svg('width="96" height="96"')), [1, 1]);
  t.same(await sizeOf({ op: 'resize', width: 300 }, PAGE), [300, 424]);
  t.same(await sizeOf({ op: 'thumbnail', size: 64 }, PAGE), [64, 64]);
  t.same(await sizeOf({ op: 'placeholder', kind: 'color' }, PAGE), [1, 1]);
  const { image } = (await calls.metadata(PAGE, TYPE)).json.data;
  t.match(image, { format: 'svg', width: 794, height: 1_123, averageColor: '#ff0000' });
});

t.test(
  'a drawing of any size is drawn as large as it is asked for, and refused only past the limit',
  async (t) => {
    t.same(await sizeOf({ op: 'resize', width: 300 }, HUGE), [300, 150]);
    t.same(await sizeOf({ op: 'thumbnail', size: 64 }, HUGE), [64, 64]);
    t.same(await sizeOf({ op: 'convert', density: 1 }, HUGE), [1_042, 521]);
    t.same(await sizeOf({ op: 'resize', width: 300 }, svg('viewBox="0 0 0.02 0.01"')), [300, 150]);
    const refused = await calls.transform({ op: 'convert', format: 'png' }, HUGE, TYPE);
    t.match(refusalOf(refused), { status: 400, code: 'unsupported_format', details: { received: 5e9 } });
    t.match(refused.json.error.message, /begin with a resize.*density of at most 9\b/);
  },
);

t.test('a drawing that has texts in several languages shows the English one on every host', async (t) => {
  const rect = (language: string, colour: string) =>
    `<rect systemLanguage="${language}" width="9" height="9" fill="${colour}"/>`;
  const choice = `<switch>${rect('de', 'red')}${rect('en', '#0f0')}<rect width="9" height="9"/></switch>`;
  const body = Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">${choice}</svg>`);
  const picture = await pictureOf(await calls.transform({ op: 'convert', format: 'png' }, body, TYPE));
  t.same(picture.at(4, 4), [0, 255, 0, 255]);
});

t.test('a drawing of any size is stored with its natural size, and read by its id', async (t) => {
  const { server, key } = calls;
  const wide = svg('width="60000" height="20"');
  const stored = await server.call('/assets/upload', { body: wide, type: TYPE, key });
  t.match(stored, { status: 201, json: { data: { image: { width: 60_000, height: 20 } } } });
  const json = { assetId: stored.json.data.id, op: 'resize', parameters: { width: 600, format: 'png' } };
  const drawn = await server.call('/images/transform', { json, key });
  t.match(await pictureOf(drawn), { width: 600, height: 1 });
});

t.test('drawings are compared at 96 dots per inch', async (t) => {
  const { server, key } = calls;
  const body = new FormData();
  body.append('file', new Blob([svg('width="1in" height="1in"')], { type: TYPE }), 'one.svg');
  body.append('other', new Blob([svg('width="96" height="72pt"')], { type: TYPE }), 'other.svg');
  const compared = await server.call('/images/compare', { method: 'POST', key, body });
  t.match(compared, { status: 200, json: { data: { ssim: 1, maxDifference: 0 } } });
});

t.test('a compressed drawing is refused with the way to send it', async (t) => {
  const refused = await calls.transform({ op: 'convert', format: 'png' }, gzipSync(PAGE), TYPE);
  t.match(refusalOf(refused), {
    status: 400,
    code: 'unsupported_format',
    details: { found: 'application/gzip' },
  });
  t.match(refused.json.error.message, /gunzip/);
});

t.test('a drawing that its host sends with a content coding is read by its url', needsCases(t), async (t) => {
  const { server, key } = calls;
  const bodies: Record<string, [body: Uint8Array, coding: string]> = {
    '/a.svg': [caseFile('svg-gzipped.svg.gz'), 'gzip'],
    '/cut.svg': [caseFile('svg-gzipped.svg.gz').slice(0, 60), 'gzip'],
    '/odd.svg': [PAGE, 'compress'],
    '/bomb.svg': [gzipSync(Buffer.alloc(40_000_000)), 'gzip'],
  };
  const { url } = await serve(t, (request, response) => {
    const [body, coding] = bodies[request.url ?? ''] ?? [];
    response.writeHead(200, { 'content-type': TYPE, 'content-encoding': coding }).end(body);
  });
  const call = (path: string, file: string) =>
    server.call(path, { key, json: { url: `${url}/${file}.svg` } });
  const convert = '/images/transform?op=convert&format=png';
  const drawn = await pictureOf(await call(convert, 'a'));
  t.same([drawn.width, drawn.height, drawn.at(10, 5)], [20, 10, [255, 0, 0, 255]]);
  t.match(await call('/images/metadata', 'a'), { json: { data: { image: { width: 20, height: 10 } } } });
  const uploaded = await call('/assets/upload', 'a');
  t.match(uploaded, { status: 201, json: { data: { name: 'a.svg', image: { format: 'svg', width: 20 } } } });
  const invalid = { status: 400, code: 'invalid_param', param: 'url' };
  for (const path of [convert, '/images/metadata', '/assets/upload']) {
    t.match(refusalOf(await call(path, 'cut')), { ...invalid, details: { coding: 'gzip' } });
    t.match(refusalOf(await call(path, 'odd')), { ...invalid, details: { coding: 'compress' } });
    t.match(refusalOf(await call(path, 'bomb')), { status: 413, code: 'payload_too_large', param: 'file' });
  }
});

t.test('the cases come out right', needsCases(t), async (t) => {
  const convert = async (name: string, query: object = {}) =>
    pictureOf(await calls.transform({ op: 'convert', format: 'png', ...query }, caseFile(name), TYPE));
  const inch = await convert('svg-inch.svg');
  t.same([inch.width, inch.at(95, 95)], [96, [255, 0, 0, 255]]);
  t.match(await convert('svg-one-inch.svg', { density: 300 }), { width: 300, height: 300 });
  const nested = await convert('svg-nested-svg.svg');
  const [red, green, blue, alpha] = nested.at(nested.width >> 1, nested.height >> 1);
  t.ok(red < 10 && green > 100 && blue < 10 && alpha === 255);
  const prefixed = await convert('svg-prefixed.svg');
  t.same([prefixed.width, prefixed.height], [40, 40]);
  const { image } = (await calls.metadata(caseFile('svg-prefixed.svg'), TYPE)).json.data;
  t.match(image, { width: 40, height: 40 });
});

t.test('the time of a drawing counts as that of its decoding', async (t) => {
  const blurred = svg(
    'width="600" height="600"',
    `<filter id="b"><feGaussianBlur stdDeviation="60"/></filter><g filter="url(#b)">${FULL.repeat(40)}</g>`,
  );
  const { headers } = await calls.transform({ op: 'resize', width: 16, format: 'png' }, blurred, TYPE);
  const times = new Map(
    [...(headers.get('server-timing') ?? '').matchAll(/(\w+);dur=([\d.]+)/g)].map(([, part, ms]) => [
      part,
      Number(ms),
    ]),
  );
  t.ok((times.get('decode') ?? 0) > (times.get('encode') ?? 0), headers.get('server-timing') ?? '');
  t.ok((times.get('decode') ?? 0) > 1);
});
