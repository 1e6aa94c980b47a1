// needs: server
import sharp from 'sharp';
import t from 'tap';
import { sharedServer } from '../../support/harness.ts';
import { ended, submit, uploadPictures } from './jobs.ts';

const server = await sharedServer();
const account = await server.account({ credits: 10_000 });
const { key } = account;
const [assetId = '', heroId = ''] = await uploadPictures(server, account, 2);

async function preset(fields: object): Promise<string> {
  const { json, status } = await server.call('/presets', { key, json: { name: 'A chain', ...fields } });
  if (status !== 201) throw new Error(JSON.stringify(json));
  return json.data.id;
}

/** The job of one asset, ended, and the file that it made. */
async function run(body: object) {
  const { json, status } = await submit(server, key, { assetIds: [assetId], wait: 60, ...body });
  if (status >= 300) throw new Error(JSON.stringify(json));
  const job = json.data;
  const made = job.items[0].resultAssetId;
  const file = made && (await server.call(`/assets/${made}/content`, { key })).bytes;
  return { job, file: file && (await sharp(file).metadata()) };
}

t.test('resize, edit, convert: each segment works on what the one before made', async (t) => {
  const presetId = await preset({
    steps: [
      { op: 'resize', parameters: { width: 16 } },
      { op: 'edit', prompt: 'Warmer' },
      { op: 'convert', parameters: { format: 'webp' } },
    ],
  });
  const { job, file } = await run({ presetId });
  t.match(job, { status: 'COMPLETED', type: 'chain', presetId, presetVersion: 1, actualCredits: 12 });
  t.match(job.segments, [
    { type: 'process' },
    { op: 'edit', model: 'sandbox-image', prompt: 'Warmer' },
    { type: 'process' },
  ]);
  t.match(file, { format: 'webp', width: 16, height: 12 });
});

t.test('remove_background, crop, edit', async (t) => {
  const presetId = await preset({
    steps: [
      { op: 'remove_background' },
      { op: 'crop', parameters: { x: 4, y: 4, width: 8, height: 6 } },
      { op: 'edit', prompt: 'Colder' },
    ],
  });
  const { job, file } = await run({ presetId });
  t.match(job, { status: 'COMPLETED', actualCredits: 24 });
  t.match(file, { format: 'png', width: 8, height: 6, hasAlpha: true });
  for (const [param, override] of [
    ['prompt', { prompt: 'x' }],
    ['model', { model: 'sandbox-image' }],
    ['parameters', { parameters: {} }],
  ] as const) {
    const refused = await submit(server, key, { presetId, assetIds: [assetId], ...override });
    t.match(
      [refused.status, refused.json.error.param],
      [400, param],
      'which of the two AI steps is not said',
    );
  }
});

t.test('the one AI step of a preset takes overrides, also for each variant', async (t) => {
  const presetId = await preset({
    steps: [{ op: 'upscale', prompt: '[sandbox:reject]' }, { op: 'grayscale' }],
  });
  const { job, file } = await run({ presetId, prompt: 'Sharper', parameters: { scale: 4 } });
  t.match(job, { status: 'COMPLETED', segments: [{ prompt: 'Sharper', parameters: { scale: 4 } }, {}] });
  t.match(file, { width: 128, height: 96 });
  const variants = [
    { name: 'two', parameters: { scale: 2 } },
    { name: 'four', parameters: { scale: 4 } },
  ];
  const prompt = 'Sharper [sandbox:reject@1]';
  const { json } = await submit(server, key, { presetId, prompt, variants, assetIds: [assetId] });
  t.match(await ended(server, key, json.data.id), {
    status: 'FAILED',
    completedItems: 1,
    items: [
      { variant: 'two', status: 'COMPLETED' },
      { variant: 'four', errorCode: 'provider_rejected', failedStep: 0 },
    ],
  });
});

t.test(
  'subjects stand in the prompt by their descriptors, and their pictures go with every call',
  async (t) => {
    const subjects = [{ name: 'hero', referenceAssetIds: [heroId], descriptor: 'a tall woman in red' }];
    const presetId = await preset({
      steps: [{ op: 'edit', prompt: 'Put {{ subject.hero }} there' }],
      subjects,
    });
    const { job } = await run({ presetId });
    t.match(job, {
      status: 'COMPLETED',
      type: 'ai-edit',
      prompt: 'Put a tall woman in red there',
      references: [heroId],
    });
    const plain = await run({ op: 'edit', prompt: 'Put a tall woman in red there' });
    t.equal(plain.job.references?.length ?? 0, 0);
    const bytesOf = async (job: { items: { resultAssetId: string }[] }) =>
      (await server.call(`/assets/${job.items[0]?.resultAssetId}`, { key })).json.data.image.sha1;
    t.not(await bytesOf(plain.job), await bytesOf(job), 'the sandbox shows that it was given the reference');
    const steps = [{ op: 'generate', prompt: 'x', model: 'sandbox-image-draft' }];
    const refused = await server.call('/presets', { key, json: { name: 'x', steps, subjects } });
    t.match([refused.status, refused.json.error.param], [400, 'subjects'], 'a model that takes no picture');
  },
);

t.test('raw types mean their ops, and prices follow the variant', async (t) => {
  t.match((await run({ type: 'ai-edit', prompt: 'Warmer' })).job, {
    type: 'ai-edit',
    presetName: 'Ad-hoc',
    op: undefined,
  });
  const analyzed = await run({
    type: 'parse',
    parameters: { schema: { type: 'object', required: ['width'] } },
  });
  t.match(analyzed.job, { type: 'parse', actualCredits: 2, items: [{ output: { width: 32 } }] });
  const variants = [{ parameters: { quality: 'low' } }, { parameters: { quality: 'high' } }];
  const body = { type: 'ai-generate', prompt: 'A boat', model: 'sandbox-image-draft', variants, count: 2 };
  const dry = await submit(server, key, body, '?dryRun=true');
  t.match(dry.json.data, { totalItems: 4, creditsPerItem: 8, credits: 22 });
});
