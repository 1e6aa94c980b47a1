// needs: server
import sharp from 'sharp';
import t from 'tap';
import { allowedWidthFor, DEFAULT_WIDTHS } from '../../../src/product/delivery/recipes.ts';
import { openDelivering } from './delivering.ts';

const { server, account, assetId, rung, get, runs } = await openDelivering(t);
const steps = [{ op: 'grayscale' }];
const create = (json: object) => server.call('/presets', { key: account.key, json });
const widthOf = async (bytes: Buffer) => (await sharp(bytes).metadata()).width;

t.test('a family answers the widths of its preset, and none else', async (t) => {
  const { data } = (await create({ name: 'Card', steps, widths: [50, 100, 800] })).json;
  t.same(data.widths, [50, 100, 800]);
  const family = { what: `${data.slug}@1`, extension: 'png' };
  for (const [width, made] of [
    ['50', 50],
    ['100', 100],
    ['800', 400],
    ['25@2', 50],
    ['26@2', 100],
    ['40@2.5', 100],
  ] as const) {
    const { status, bytes } = await get(rung({ ...family, width }));
    t.same([status, await widthOf(bytes)], [200, made], width);
  }
  for (const width of ['51', '99', '8192', '0', '-50', '50.0', '050', '50@5', '50@0', '201@4', 'x', '50@'])
    t.equal((await get(rung({ ...family, width }))).status, 404, width);
  const changed = rung({ ...family, width: '50' }).replace('.png', '.webp');
  t.equal((await get(changed)).status, 404, 'the format is signed');
});

t.test('a width with a density is their exact product', async (t) => {
  const wrong: string[] = [];
  for (let hundredths = 100; hundredths <= 400; hundredths += 1)
    for (let width = 1; width * hundredths <= 819_200; width += 1) {
      const product = (width * hundredths) / 100;
      const dpr = hundredths / 100;
      const rung = Math.ceil(product);
      if (allowedWidthFor([rung - 1, rung, rung + 1], { width, dpr }) !== rung) wrong.push(`${width}@${dpr}`);
    }
  t.same(wrong.slice(0, 5), []);
});

t.test('all widths, in any order, make no more pictures than the ladder has rungs', async (t) => {
  const { data } = (await create({ name: 'Random', steps })).json;
  const before = await runs();
  const family = { what: `${data.slug}@1`, extension: 'webp' };
  const all = Array.from({ length: 4_096 }, (_, index) => String(1 + ((index * 7919) % 4096)));
  const statuses: Record<string, number> = {};
  for (let start = 0; start < all.length; start += 50) {
    const answers = await Promise.all(
      all.slice(start, start + 50).map((width) => get(rung({ ...family, width }))),
    );
    for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1;
  }
  t.same(Object.keys(statuses), ['200', '404']);
  const made = (await runs()) - before;
  t.ok(made > 0 && made <= DEFAULT_WIDTHS.length, `${made} pictures`);
});

t.test('widths are a part of a version', async (t) => {
  const { data } = (await create({ name: 'Versioned', steps, widths: [10, 20] })).json;
  const put = (json: object) =>
    server.call(`/presets/${data.slug}`, { method: 'PUT', key: account.key, json });
  t.equal((await put({ name: 'Renamed' })).json.data.version, 1);
  const changed = await put({ widths: [30] });
  t.same([changed.json.data.version, changed.json.data.widths], [2, [30]]);
  const first = await server.call(`/presets/${data.slug}@1`, { key: account.key });
  t.same(first.json.data.widths, [10, 20]);
  const imported = await server.call('/presets/import', {
    key: account.key,
    json: [(await server.call(`/presets/${data.slug}`, { key: account.key })).json.data],
  });
  t.same(imported.json.data.data[0].widths, [30]);
});

t.test('widths that no ladder has are refused', async (t) => {
  for (const [widths, param] of [
    [[], 'widths'],
    [[20, 10], 'widths'],
    [[10, 10], 'widths'],
    [[0], 'widths[0]'],
    [[8193], 'widths[0]'],
    [[1.5], 'widths[0]'],
    [Array.from({ length: 33 }, (_, index) => index + 1), 'widths'],
    ['10', 'widths'],
  ] as const) {
    const { status, json } = await create({ name: 'Bad', steps, widths });
    t.same([status, json.error.code], [400, 'invalid_param'], JSON.stringify(widths));
    t.ok(String(json.error.param).startsWith(param.slice(0, 6)), json.error.param);
  }
});

t.test('a family has no other recipe than a preset', async (t) => {
  t.equal((await get(rung({ what: 'grayscale', extension: 'png', width: '64' }))).status, 404);
  t.ok(assetId);
});
