// needs: server
import t, { type Test } from 'tap';
import { sharedServer } from '../../support/harness.ts';
import { submit, uploadPictures } from './jobs.ts';

const server = await sharedServer();
const account = await server.account({ plan: 'free', credits: 20 });
const { key } = account;
const [asset = '', other = ''] = await uploadPictures(server, account, 2);
const stranger = await server.account();
const [theirs = ''] = await uploadPictures(server, stranger, 1);
const reserved = await server.call('/assets', { key, json: { contentType: 'image/png' } });
const pending = reserved.json.data.asset.id;
const resize = { op: 'resize', parameters: { width: 8 }, assetIds: [asset] };
const edit = { op: 'edit', prompt: 'Blue', assetIds: [asset] };

/** From there on the text of an instant begins with a sign. */
const YEAR_10000_MS = Date.UTC(10_000, 0);

interface Refusal {
  body: Record<string, unknown>;
  query?: string;
  status?: number;
  code?: string;
  param: string;
  details?: object;
}

/** Each of these is refused alike alone and in a dry run, and leaves nothing behind. */
const REFUSALS: Record<string, Refusal> = {
  'an unknown op': { body: { ...resize, op: 'resise' }, param: 'op' },
  'an op that is no job': { body: { ...resize, op: 'read_metadata' }, param: 'op' },
  'nothing to run': { body: { assetIds: [asset] }, param: 'op' },
  'a type beside op': { body: { ...resize, type: 'process' }, param: 'type' },
  'an unknown type': { body: { type: 'magic', assetIds: [asset] }, param: 'type' },
  'a parameter outside the contract': {
    body: { ...resize, parameters: { width: 0 } },
    param: 'parameters.width',
  },
  'a parameter that is not declared': {
    body: { ...resize, parameters: { width: 8, witdh: 9 } },
    param: 'parameters.witdh',
  },
  'a model on a deterministic op': { body: { ...resize, model: 'sandbox-image' }, param: 'model' },
  'a model that does not run the op': {
    body: { ...edit, model: 'sandbox-vision' },
    param: 'model',
    details: { allowed: Array },
  },
  'a step that cannot run': {
    body: { steps: [{ op: 'resize', parameters: { width: 0 } }], assetIds: [asset] },
    param: 'steps[0].parameters.width',
  },
  'an op beside steps': { body: { ...resize, steps: [{ op: 'flip' }] }, param: 'op' },
  'subjects without steps': { body: { ...edit, subjects: [] }, param: 'subjects' },
  'a crop outside of each picture': {
    body: { op: 'crop', parameters: { x: 40, y: 0, width: 5, height: 5 }, assetIds: [asset, other] },
    param: 'parameters.x',
    details: { limit: 31 },
  },
  'a step that fits no picture, in each variant': {
    body: {
      op: 'convert',
      parameters: { frame: 3 },
      variants: [{ parameters: { format: 'png' } }, { parameters: { format: 'webp', frame: 2 } }],
      assetIds: [asset],
    },
    param: 'parameters.frame',
    details: { limit: 0 },
  },
  'a size that no file of the picture has': {
    body: { steps: [{ op: 'compress', parameters: { maxBytes: 100, format: 'avif' } }], assetIds: [asset] },
    param: 'steps[0].parameters.maxBytes',
  },
  'a blank id': { body: { ...resize, assetIds: [asset, ' '] }, param: 'assetIds', details: { index: 1 } },
  'no asset': { body: { ...resize, assetIds: [] }, param: 'assetIds' },
  'more assets than a job takes': {
    body: { ...resize, assetIds: Array.from({ length: 10_001 }, () => asset) },
    param: 'assetIds',
    details: { limit: 10_000 },
  },
  'a bad collection name': { body: { ...resize, collection: ' x' }, param: 'collection' },
  'a size that the model does not draw': {
    body: { op: 'generate', prompt: 'x', model: 'sandbox-image', parameters: { size: '4:3' } },
    param: 'parameters.size',
    details: { received: '4:3', pattern: /x/ },
  },
  'a size beyond those of the model': {
    body: { op: 'generate', prompt: 'x', model: 'sandbox-image', parameters: { size: '63x64' } },
    param: 'parameters.size',
  },
  'a value that is none of the options of a model': {
    body: { op: 'generate', prompt: 'x', model: 'sandbox-image-draft', parameters: { quality: 'odd' } },
    param: 'parameters.quality',
    details: { allowed: ['low', 'high'] },
  },
  'a number beyond the bounds of a model': {
    body: { ...edit, parameters: { seed: -1 } },
    param: 'parameters.seed',
    details: { min: 0, max: 4_294_967_295 },
  },
  'a factor that no model has, in a variant': {
    body: { op: 'upscale', assetIds: [asset], variants: [{}, { parameters: { scale: 3 } }] },
    param: 'variants[1].parameters.scale',
    details: { received: 3, allowed: [2, 4] },
  },
  'a text for a number of a model, in a step': {
    body: { steps: [{ op: 'upscale', parameters: { scale: '2' } }], assetIds: [asset] },
    param: 'steps[0].parameters.scale',
  },
  'an expansion by nothing': { body: { op: 'expand', assetIds: [asset] }, param: 'parameters.top' },
  'a count above ten': { body: { op: 'generate', prompt: 'x', count: 11 }, param: 'count' },
  'a count on what takes assets': { body: { ...resize, count: 2 }, param: 'count' },
  'too many variants': {
    body: { ...resize, variants: Array.from({ length: 21 }, () => ({ parameters: { height: 4 } })) },
    param: 'variants',
  },
  'a wrong parameter of a variant': {
    body: { ...resize, variants: [{ parameters: { height: 4 } }, { parameters: { height: -1 } }] },
    param: 'variants[1].parameters.height',
  },
  'the removed mode': { body: { ...resize, mode: 'fast' }, param: 'mode' },
  'a wait that is no integer': { body: { ...resize, wait: 1.5 }, param: 'wait' },
  'a prompt of spaces': { body: { ...edit, prompt: ' \n' }, param: 'prompt' },
  'a step with a prompt of spaces': {
    body: { steps: [{ op: 'flip' }, { op: 'edit', prompt: ' ' }], assetIds: [asset] },
    param: 'steps[1].prompt',
  },
  'a version that is no number': { body: { presetId: 'builtin-x@0', assetIds: [asset] }, param: 'presetId' },
  'a row that is no object': {
    body: { op: 'render_template', templateId: 'builtin-template-card', items: [{}, 1] },
    param: 'items[1]',
  },
  'no rows': { body: { op: 'render_template', templateId: 'x', items: [] }, param: 'items' },
  'imageCount on a render': {
    body: { op: 'render_template', templateId: 'x', items: [{}], imageCount: 2 },
    param: 'imageCount',
  },
  'an asset that is not there': {
    body: { ...resize, assetIds: [asset, theirs, 'ast_no', theirs] },
    status: 404,
    code: 'asset_not_found',
    param: 'assetIds',
    details: { missing: [theirs, 'ast_no'] },
  },
  'a field that there is not': { body: { ...resize, assetsIds: [asset] }, param: 'assetsIds' },
  'an asset that has not come': {
    body: { ...resize, assetIds: [asset, pending] },
    code: 'invalid_state',
    param: 'assetIds',
    details: { index: 1, status: 'PENDING' },
  },
  'a preset that is not there': {
    body: { presetId: 'nope', assetIds: [asset] },
    status: 404,
    code: 'preset_not_found',
    param: 'presetId',
  },
  'a template that is not there': {
    body: { op: 'render_template', templateId: 'nope', items: [{}] },
    status: 404,
    code: 'not_found',
    param: 'templateId',
  },
  'a layer that is not there': {
    body: { op: 'overlay', assetIds: [asset], parameters: { layerAssetId: 'ast_000000000000000000000000' } },
    status: 404,
    code: 'not_found',
    param: 'parameters.layerAssetId',
  },
  'a layer that has not come': {
    body: { op: 'overlay', assetIds: [asset], parameters: { layerAssetId: pending } },
    code: 'invalid_state',
    param: 'parameters.layerAssetId',
  },
};

async function isRefused(t: Test, { body, status = 400, code = 'invalid_param', param, details }: Refusal) {
  for (const query of ['', '?dryRun=true']) {
    const answer = await submit(server, key, body, query);
    t.equal(answer.status, status, JSON.stringify(answer.json).slice(0, 300));
    t.match(answer.json.error, { code, param, retryable: false, ...(details && { details }) });
  }
}

for (const [what, refusal] of Object.entries(REFUSALS)) {
  t.test(`${what} is refused`, (t) => isRefused(t, refusal));
}

t.test('imageCount counts in a dry run, and is refused in a submit', async (t) => {
  const body = { ...resize, imageCount: 600 };
  const dry = await submit(server, key, body, '?dry_run=true');
  t.match(dry.json.data, {
    totalItems: 601,
    overageRuns: 101,
    overageCredits: 101,
    sufficientCredit: false,
    processCountLeft: 500,
    assetCountLeft: 997,
  });
  t.match((await submit(server, key, body)).json.error, { param: 'imageCount' });
});

t.test('outputs past the places of the plan are refused', async (t) => {
  const assetIds = Array.from({ length: 998 }, () => asset);
  const body = { op: 'generate', prompt: 'x', count: 1 };
  t.equal((await submit(server, key, body, '?dryRun=true')).status, 200);
  const rich = await server.account({ plan: 'free', credits: 2_000 });
  const [own = ''] = await uploadPictures(server, rich, 1);
  const { status, json } = await submit(server, rich.key, {
    ...resize,
    assetIds: assetIds.map(() => own).concat(own, own),
  });
  t.equal(status, 422, JSON.stringify(json).slice(0, 300));
  t.match(json.error, { code: 'asset_count_exceeded', details: { left: 999, upgradeUrl: String } });
  t.same((await server.call('/credits', { key: rich.key })).json.data, {
    balance: 2_000,
    held: 0,
    available: 2_000,
  });
  t.match(
    (await server.call('/credits/ledger', { key: rich.key })).json.meta,
    { total: 1 },
    'the grant alone',
  );
});

t.test('a wait that is no integer is refused beside another one, too', async (t) => {
  const { status, json } = await submit(server, key, { ...resize, wait: 1.5 }, '?wait=0');
  t.equal(status, 400, JSON.stringify(json));
  t.match(json.error, { code: 'invalid_param', param: 'wait' });
});

t.test('nothing of a refused submit is left', async (t) => {
  t.match((await server.call('/jobs', { key })).json.meta, { total: 0 });
  t.match((await server.call('/account', { key })).json.data, {
    credits: { balance: 20, held: 0 },
    processing: { used: 0 },
    assets: { stored: 3 },
  });
});

t.test('jobs of others, and wrong filters, are refused', async (t) => {
  for (const path of ['/jobs/job_nope', '/jobs/job_nope/items']) {
    t.match((await server.call(path, { key })).json.error, { code: 'job_not_found' });
  }
  const wrong = {
    status: 'status=DONE',
    type: 'type=magic',
    createdFrom: 'createdFrom=yesterday',
    createdTo: 'createdTo=2026-02-30',
    cursor: 'cursor=x',
  };
  for (const [param, query] of Object.entries(wrong)) {
    t.match((await server.call(`/jobs?${query}`, { key })).json.error, { code: 'invalid_param', param });
  }
  t.match((await server.call('/jobs?preset=nope', { key })).json.error, { code: 'preset_not_found' });
  t.match((await server.call('/jobs/counts?preset=nope', { key })).json.error, { code: 'preset_not_found' });
});

t.test('a job is filtered by what it was, and by when it was made', async (t) => {
  const { json } = await submit(server, key, { ...resize, assetIds: [other], wait: 30 });
  t.equal(json.data.status, 'COMPLETED');
  const { createdAt, id } = json.data;
  const total = async (query: string) => (await server.call(`/jobs?${query}`, { key })).json.meta.total;
  const day = createdAt.slice(0, 10);
  const ms = Date.parse(createdAt);
  for (const query of [
    'op=resize',
    'status=COMPLETED',
    'type=process',
    `rootJobId=${id}`,
    `createdTo=${day}`,
    `createdFrom=${day}&createdTo=${day}`,
    `createdFrom=${ms}&createdTo=${ms}`,
    `createdFrom=${createdAt.replace('Z', '')}`,
    `createdTo=${YEAR_10000_MS}`,
    'createdTo=999999999999999',
  ]) {
    t.equal(await total(query), 1, query);
  }
  for (const query of [
    'op=flip',
    'status=FAILED',
    'type=chain',
    `createdFrom=${ms + 1}`,
    `createdTo=${ms - 1}`,
    `createdFrom=${YEAR_10000_MS}`,
    'createdFrom=999999999999999',
  ]) {
    t.equal(await total(query), 0, query);
  }
});

t.test('the catalogue shows the sizes that the default model draws', async (t) => {
  const { data } = (await server.call('/ops/generate')).json;
  const pattern = new RegExp(data.params.size.pattern);
  for (const [size, isTaken] of [
    ['64x2048', true],
    ['1024x768', true],
    ['63x64', false],
    ['64x2049', false],
    ['4:3', false],
  ] as const)
    t.equal(pattern.test(size), isTaken, size);
  t.same((await server.call('/ops/upscale')).json.data.params.scale.enum, [2, 4]);
});
