// needs: server, browser
import sharp from 'sharp';
import t from 'tap';
import { OPS } from '../../../src/product/catalogue/index.ts';
import type { GivenParameters, Op } from '../../../src/product/catalogue/op.ts';
import { type Answer, sharedServer } from '../../support/harness.ts';
import { partsOf } from '../transforms/multipart.ts';

/** Every op does the same wherever it is named: alone, as a step, as one of three outputs, in a job and in a preset. */

const server = await sharedServer();
const { key } = await server.account({ credits: 1_000 });

/** A gradient with a mark in it, so that each op has something to do. */
async function uploaded(width: number, height: number, blue: number): Promise<string> {
  const data = Uint8Array.from({ length: width * height * 3 }, (_, at) => {
    const [x, y] = [Math.floor(at / 3) % width, Math.floor(at / 3 / width)];
    return (
      [(255 * x) / width, (255 * y) / height, (x - 30) ** 2 + (y - 20) ** 2 < 99 ? 255 : blue][at % 3] ?? 0
    );
  });
  const body = new Uint8Array(
    await sharp(data, { raw: { width, height, channels: 3 } })
      .png()
      .toBuffer(),
  );
  return (await server.call('/assets/upload', { key, body, type: 'image/png' })).json.data.id;
}

const assetId = await uploaded(160, 120, 60);
const otherId = await uploaded(160, 120, 90);
const assetIds = [assetId];

/** The bytes of a picture, or the text of an answer in JSON. */
function madeBy({ status, bytes, json }: Answer, what: string): string {
  if (status !== 200) throw new Error(`${what}: ${bytes.toString('utf8', 0, 400)}`);
  return json === undefined ? bytes.toString('base64') : JSON.stringify(json.data);
}

const transform = (json: object) => server.call('/images/transform', { key, json: { assetId, ...json } });

/** The result of a job of one item. */
async function madeInJob(body: object, what: string): Promise<string> {
  const { json } = await server.call('/jobs', { key, json: { ...body, wait: 60 } });
  const [item] = json.data?.items ?? [];
  if (item?.status !== 'COMPLETED') throw new Error(`${what}: ${JSON.stringify(json)}`);
  if (item.output !== undefined) return JSON.stringify(item.output);
  return madeBy(await server.call(`/assets/${item.resultAssetId}/content`, { key }), what);
}

async function savedPreset(steps: object[]): Promise<string> {
  const { json } = await server.call('/presets', { key, json: { name: 'Every op', steps } });
  return json.data.slug;
}

/** The parameters of the example, on this picture. */
function parametersOf(op: Op): GivenParameters {
  if (op.runs !== 'pass') return {};
  const { layerAssetId, otherAssetId, ...parameters } = op.example.parameters;
  if (op.op === 'crop') return { x: 10, y: 20, width: 60, height: 50 };
  return {
    ...parameters,
    ...(layerAssetId !== undefined && { layerAssetId: otherId }),
    ...(otherAssetId !== undefined && { otherAssetId: otherId }),
  };
}

const ALL = Object.values<Op>(OPS);
const FIRST = { name: 'first', op: 'resize', parameters: { width: 20 } };
const LAST = { name: 'last', op: 'blur', parameters: { sigma: 2 } };

for (const op of ALL.filter(({ runs, produces }) => runs === 'pass' && produces === 'image'))
  t.test(`${op.op} makes the same file in every place`, async (t) => {
    const step = { op: op.op, parameters: parametersOf(op) };
    const asStep = madeBy(await transform({ steps: [step] }), 'a step');
    // An op that reads a second picture is no call of its own.
    if (!('readsSecondAsset' in op && op.readsSecondAsset !== undefined))
      t.equal(madeBy(await transform(step), 'alone'), asStep, 'alone and as a step');
    const several = await transform({ outputs: [FIRST, { name: 'made', ...step }, LAST] });
    t.equal(several.headers.get('x-service-outputs'), '3/3');
    t.equal(partsOf(several)[1]?.body.toString('base64'), asStep, 'one of three outputs');
    t.equal(await madeInJob({ ...step, assetIds }, 'a job'), asStep, 'a job of the op');
    t.equal(await madeInJob({ steps: [step], assetIds }, 'a job'), asStep, 'a job of steps');
    const preset = await savedPreset([step]);
    t.equal(await madeInJob({ presetId: preset, assetIds }, 'a preset'), asStep, 'a job of a preset');
    if (step.parameters.layerAssetId === undefined)
      t.equal(madeBy(await transform({ preset }), 'a preset'), asStep, 'a preset');
  });

for (const op of ALL.filter(({ runs, produces }) => runs === 'pass' && produces === 'json'))
  t.test(`${op.op} answers the same in every place`, async (t) => {
    const step = { op: op.op, parameters: parametersOf(op) };
    const inJob = await madeInJob({ ...step, assetIds }, 'a job');
    t.equal(await madeInJob({ steps: [step], assetIds }, 'a job'), inJob, 'a job of steps');
    const presetId = await savedPreset([step]);
    t.equal(await madeInJob({ presetId, assetIds }, 'a preset'), inJob, 'a job of a preset');
    const path = 'syncEndpoint' in op ? op.syncEndpoint : undefined;
    if (path === undefined) return;
    const now = await server.call(path, {
      key,
      json: op.op === 'compare' ? { assetId, otherAssetId: otherId } : { assetId },
    });
    t.equal(madeBy(now, path), inJob, 'while the caller waits');
  });

t.test('a template is the same picture in a call and in a job', async (t) => {
  const row = { title: 'Equal', author: 'A' };
  const templateId = 'builtin-template-social-card';
  const drawn = await server.call('/images/render', { key, json: { templateId, data: row } });
  const inJob = await madeInJob({ op: 'render_template', templateId, items: [row] }, 'a job');
  t.equal(madeBy(drawn, 'a call'), inJob);
});

for (const op of ALL.filter(({ runs }) => runs === 'model'))
  t.test(`${op.op} makes the same as an op, as a step and in a preset`, async (t) => {
    const model = op.produces === 'json' ? 'sandbox-vision' : 'sandbox-image';
    const { parameters } = { parameters: {}, ...('example' in op ? op.example : {}) } as {
      parameters: GivenParameters;
    };
    const step = { op: op.op, model, parameters, ...(op.requiresPrompt && { prompt: 'A red boat' }) };
    const inputs = op.requiresAssets ? { assetIds } : {};
    const alone = await madeInJob({ ...step, ...inputs }, 'a job');
    t.equal(await madeInJob({ steps: [step], ...inputs }, 'steps'), alone, 'a job of steps');
    const presetId = await savedPreset([step]);
    t.equal(await madeInJob({ presetId, ...inputs }, 'a preset'), alone, 'a job of a preset');
  });

t.test('every op was tried', (t) => {
  const tried = ALL.filter(({ runs }) => runs === 'pass' || runs === 'model' || runs === 'render');
  t.same(
    ALL.filter((op) => !tried.includes(op)).map(({ op }) => op),
    ['read_metadata'],
    'only the facts of an image are no work of a job',
  );
  t.end();
});
