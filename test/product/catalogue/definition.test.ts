// needs: nothing
import t from 'tap';
import { readPlans } from '../../../src/product/billing/plans.ts';
import { OPS } from '../../../src/product/catalogue/index.ts';
import type { Op } from '../../../src/product/catalogue/op.ts';
import { opDefinitionOf, PLACEHOLDER_ASSET_ID } from '../../../src/product/catalogue/pages/definition.ts';
import { findModel, readModels } from '../../../src/product/models/models.ts';

const plans = readPlans();
const models = readModels();
const definitions = Object.values<Op>(OPS).map((op) => opDefinitionOf(op, plans, models));

const ALWAYS = [
  'op',
  'kind',
  'description',
  'params',
  'pricing',
  'produces',
  'requiresAssets',
  'requiresPrompt',
];
const FIELDS = {
  deterministic: {
    always: ['jobType', 'example'],
    sometimes: ['syncEndpoint', 'syncExample', 'syncParams'],
  },
  sync: { always: ['endpoint'], sometimes: [] },
  ai: {
    always: ['jobType', 'example', 'defaultModel', 'modelCategory'],
    sometimes: ['maxInputEdge', 'defaultPrompt', 'defaultSchema'],
  },
};
const PRICING = {
  deterministic: ['basis', 'exactPrice', 'overageCredits', 'processLimit', 'summary'],
  sync: ['basis', 'summary'],
  ai: ['basis', 'creditsPerUsd', 'defaultModel', 'exactPrice', 'markup', 'summary'],
};

t.test('a definition has the fields of its kind and no other', (t) => {
  for (const definition of definitions) {
    const { always, sometimes } = FIELDS[definition.kind];
    const present = Object.keys(definition);
    for (const field of [...ALWAYS, ...always])
      t.ok(present.includes(field), `${definition.op} has ${field}`);
    t.strictSame(
      present.filter((field) => ![...ALWAYS, ...always, ...sometimes].includes(field)),
      [],
    );
    t.strictSame(Object.keys(definition.pricing).sort(), PRICING[definition.kind], definition.op);
  }
  t.end();
});

t.test('an example is a whole job body', (t) => {
  for (const { op, example, requiresAssets, requiresPrompt, kind } of definitions) {
    if (kind === 'sync') continue;
    t.equal(example?.op, op);
    t.strictSame(example?.assetIds, requiresAssets ? [PLACEHOLDER_ASSET_ID] : undefined, op);
    if (requiresPrompt) t.type(example?.prompt, 'string', op);
  }
  t.end();
});

t.test('parameters are told as type, words, bounds, default and description', (t) => {
  const { resize, rotate, redact, round_corners, generate, render_template, analyze } = Object.fromEntries(
    definitions.map((definition) => [definition.op, definition.params]),
  );
  t.match(resize?.width, { type: 'integer', min: 1, max: 16384, description: /Width/ });
  t.match(resize?.fit, {
    type: 'string',
    enum: ['cover', 'contain', 'fill', 'inside', 'outside'],
    default: 'inside',
  });
  t.match(resize?.enlarge, { type: 'boolean', default: false });
  t.match(resize?.dpr, { type: 'number', min: 1, max: 5, default: 1 });
  t.strictSame(Object.keys(resize?.width ?? {}).sort(), ['description', 'max', 'min', 'type']);
  t.match(rotate?.frame, { type: 'string or integer', enum: ['first', 'all'], min: 0 });
  t.match(redact?.regions, { type: 'array', min: 1, max: 100 });
  t.match(round_corners?.radius, { type: 'integer or string', min: 0, max: 8192 });
  t.match(generate, {
    prompt: { type: 'string' },
    count: { min: 1, max: 10, default: 1 },
    size: { type: 'string' },
  });
  t.match(render_template, { templateId: { type: 'string' }, items: { type: 'array', max: 10_000 } });
  t.match(analyze?.schema, { type: 'object' });
  t.end();
});

t.test('a price is data', (t) => {
  const { resize, upscale, read_metadata, analyze } = Object.fromEntries(
    definitions.map((definition) => [definition.op, definition]),
  );
  t.match(resize?.pricing, {
    basis: 'process_quota',
    processLimit: { free: 500, pro: 10_000, scale: -1 },
    overageCredits: { free: 1, pro: 1 },
  });
  t.notOk(
    Object.hasOwn(resize?.pricing.overageCredits ?? {}, 'scale'),
    'a plan without a limit has no overage',
  );
  t.match(upscale?.pricing, {
    basis: 'per_item',
    markup: models.markup,
    creditsPerUsd: models.creditsPerUsd,
  });
  t.equal(upscale?.pricing.defaultModel?.id, upscale?.defaultModel);
  t.equal(upscale?.maxInputEdge, findModel(models, upscale?.defaultModel ?? '')?.maxInputEdge);
  t.equal(read_metadata?.pricing.basis, 'free');
  t.type(analyze?.defaultPrompt, 'string');
  t.match(analyze?.defaultSchema, { type: 'object' });
  t.end();
});

t.test('the default model of every AI op exists and carries its category', (t) => {
  for (const { op, defaultModel, modelCategory } of definitions) {
    if (defaultModel === undefined) continue;
    t.ok(findModel(models, defaultModel)?.categories.includes(modelCategory ?? ''), op);
  }
  t.end();
});
