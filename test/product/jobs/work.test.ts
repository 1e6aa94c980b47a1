// needs: nothing
import t from 'tap';
import { ApiError } from '../../../src/platform/http/errors/errors.ts';
import { subjectReferencesOf } from '../../../src/product/catalogue/plan/subjects.ts';
import type { JobRequest } from '../../../src/product/jobs/schema.ts';
import { checkCount, checkJobFields, checkWork } from '../../../src/product/jobs/submit/work.ts';
import { onlyOfferedModels, readModels } from '../../../src/product/models/models.ts';

const models = onlyOfferedModels(readModels(), (provider) => provider === 'sandbox');
const resize = { op: 'resize', parameters: { width: 100 } };
const edit = { op: 'edit', prompt: 'Warm light' };
const convert = { op: 'convert', parameters: { format: 'webp' } };
const hero = { name: 'hero', referenceAssetIds: ['ast_1', 'ast_2'], descriptor: 'a tall woman in red' };

function check(body: JobRequest, stored?: { steps: object[]; subjects?: (typeof hero)[] }) {
  checkJobFields(body);
  const preset =
    body.presetId === undefined || stored === undefined ? undefined : { subjects: [], ...stored };
  const work = checkWork(body, models, preset);
  return { ...work, count: checkCount(body, work) };
}

function refusal(body: object, stored?: Parameters<typeof check>[1]): ApiError | undefined {
  try {
    check(body, stored);
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

t.test('an op is one segment, with everything that it takes to run and to price it', (t) => {
  const job = check({ op: 'resize', parameters: { width: 100, format: 'webp', metadata: 'keep' } });
  t.match(job, { type: 'process', op: 'resize', takes: 'assets', count: 1, produces: 'image' });
  t.equal(job.variants.length, 1);
  t.notOk('name' in (job.variants[0] ?? {}));
  const [segment] = job.variants[0]?.segments ?? [];
  t.match(segment, {
    runs: 'pass',
    stepIndexes: [0],
    pass: { encode: { format: 'webp', metadata: 'keep' } },
    pipeline: [
      { operation: 'resize', params: { width: 100 } },
      { operation: 'keepMetadata', params: { metadata: 'keep' } },
      { operation: 'webp', params: {} },
    ],
    layers: [],
  });
  t.strictSame(job.variants[0]?.credits, [0]);
  t.end();
});

t.test('an AI op keeps its model, prompt and parameters, and has a price', (t) => {
  const table: [JobRequest, object, number][] = [
    [{ op: 'generate', prompt: 'A boat', count: 3 }, { type: 'ai-generate', takes: 'nothing', count: 3 }, 12],
    [{ op: 'generate', prompt: 'A boat', model: 'sandbox-image-draft' }, { type: 'ai-generate' }, 3],
    [{ type: 'ai-edit', prompt: 'Warm' }, { type: 'ai-edit', op: undefined, takes: 'assets' }, 12],
    [
      { op: 'upscale', prompt: '[sandbox:fail]', parameters: { scale: 4, odd: [1] } },
      { type: 'ai-edit' },
      12,
    ],
    [{ op: 'analyze' }, { type: 'parse', produces: 'json' }, 2],
  ];
  for (const [body, shape, credits] of table) {
    const job = check(body);
    t.match(job, shape, JSON.stringify(body));
    const [segment] = job.variants[0]?.segments ?? [];
    t.match(segment, { runs: 'model', parameters: body.parameters ?? {} });
    t.strictSame(job.variants[0]?.credits, [credits]);
  }
  t.match(check({ op: 'analyze' }).variants[0]?.segments, [{ model: 'sandbox-vision', prompt: /Describe/ }]);
  t.end();
});

t.test('a render takes rows', (t) => {
  const body = { op: 'render_template', templateId: 'card', items: [{ title: 'x' }] };
  t.match(check(body), {
    type: 'render',
    takes: 'rows',
    variants: [{ segments: [] }],
    op: 'render_template',
  });
  t.equal(check({ templateId: 'card', items: [{ title: 'x' }], type: 'render' }).op, undefined);
  t.end();
});

t.test('variants are merged over the parameters, and the highest price can be told', (t) => {
  const variants = [{ name: 'wide', parameters: { width: 900 } }, { parameters: { height: 9 } }];
  const job = check({ op: 'resize', parameters: { width: 100, format: 'png' }, variants });
  t.match(job.variants, [
    { name: 'wide', parameters: { width: 900, format: 'png' } },
    { name: '1', parameters: { width: 100, height: 9, format: 'png' } },
  ]);
  const priced = check({
    op: 'generate',
    prompt: 'A boat',
    model: 'sandbox-image-draft',
    variants: [{ parameters: { quality: 'low' } }, { parameters: { quality: 'high' } }],
  });
  t.strictSame(
    priced.variants.map(({ credits }) => credits),
    [[3], [8]],
  );
  t.end();
});

t.test('steps of several segments are a chain, in the order they run', (t) => {
  const job = check({ steps: [resize, resize, edit, convert, { op: 'analyze' }] });
  t.match(job, { type: 'chain', takes: 'assets', produces: 'json' });
  t.strictSame(
    job.variants[0]?.segments.map(({ runs, index, stepIndexes }) => [runs, index, stepIndexes]),
    [
      ['pass', 0, [0, 1]],
      ['model', 1, [2]],
      ['pass', 2, [3]],
      ['model', 3, [4]],
    ],
  );
  t.equal(check({ steps: [resize, convert] }).type, 'process');
  t.equal(check({ steps: [edit], type: 'ai-edit' }).type, 'ai-edit');
  t.end();
});

t.test('subjects bring references, and every asset that is read beside the items is named', (t) => {
  const job = check({
    steps: [
      { op: 'overlay', parameters: { layerAssetId: 'ast_9' } },
      { ...edit, prompt: 'As {{subject.hero}}' },
    ],
    subjects: [hero],
  });
  t.strictSame(subjectReferencesOf(job.subjects), ['ast_1', 'ast_2']);
  t.strictSame(job.named, [
    { assetId: 'ast_9', param: 'steps[0].parameters.layerAssetId', role: 'second' },
    { assetId: 'ast_1', param: 'subjects', role: 'reference' },
    { assetId: 'ast_2', param: 'subjects', role: 'reference' },
  ]);
  const compare = check({ op: 'compare', parameters: { otherAssetId: 'ast_8' } });
  t.strictSame(compare.named, [{ assetId: 'ast_8', param: 'parameters.otherAssetId', role: 'second' }]);
  t.equal(compare.produces, 'json');
  t.end();
});

t.test("a preset's one AI step takes overrides; where there is none or several they are refused", (t) => {
  const stored = { steps: [resize, { ...edit, parameters: { seed: 1, style: 'soft' } }] };
  const body = { presetId: 'x', prompt: 'Cold', parameters: { seed: 2 }, model: 'sandbox-image' };
  const segment = check(body, stored).variants[0]?.segments[1];
  t.match(segment, { prompt: 'Cold', parameters: { seed: 2, style: 'soft' }, model: 'sandbox-image' });
  const variants = [{ parameters: { seed: 3 } }, { parameters: { seed: 4 } }];
  t.match(check({ presetId: 'x', variants }, stored).variants, [
    { segments: [{}, { parameters: { seed: 3 } }] },
    { segments: [{}, { parameters: { seed: 4 } }] },
  ]);
  for (const field of ['model', 'prompt', 'parameters', 'variants'] as const) {
    const value = { model: 'sandbox-image', prompt: 'Cold', parameters: {}, variants };
    for (const steps of [[resize], [edit, edit]])
      t.equal(refusal({ presetId: 'x', [field]: value[field] }, { steps })?.param, field);
  }
  t.equal(refusal({ presetId: 'x', prompt: '' }, stored)?.param, 'prompt');
  t.equal(refusal({ presetId: 'x', prompt: '{{subject.nobody}}' }, stored)?.param, 'prompt');
  t.match(refusal({ presetId: 'x', model: 'sandbox-vision' }, stored), {
    param: 'model',
    details: { allowed: ['sandbox-image'] },
  });
  t.end();
});

t.test('a preset whose model is no longer offered, or whose step is no longer accepted, says so', (t) => {
  t.equal(refusal({ presetId: 'x' }, { steps: [{ ...edit, model: 'gone' }] })?.param, 'model');
  t.match(refusal({ presetId: 'x' }, { steps: [{ op: 'resize', parameters: { zoom: 1 } }] }), {
    param: 'presetId',
    details: { step: 'steps[0].parameters.zoom' },
  });
  t.end();
});

const big = Array.from({ length: 21 }, () => ({ parameters: {} }));
const REFUSED: [string, object][] = [
  ['op', {}],
  ['op', { op: 'zoom' }],
  ['op', { op: 'read_metadata' }],
  ['type', { op: 'resize', type: 'process' }],
  ['type', { type: 'video' }],
  ['type', { steps: [resize], type: 'chain' }],
  ['type', { steps: [resize, edit], type: 'process' }],
  ['steps', { type: 'process' }],
  ['steps', { type: 'chain' }],
  ['steps[0].op', { steps: [{ op: 'zoom' }] }],
  ['steps[1].parameters.width', { steps: [resize, { op: 'resize', parameters: { width: 0 } }] }],
  ['op', { steps: [resize], op: 'resize' }],
  ['presetId', { steps: [resize], presetId: 'x' }],
  ['model', { steps: [edit], model: 'sandbox-image' }],
  ['prompt', { steps: [edit], prompt: 'x' }],
  ['parameters', { steps: [resize], parameters: {} }],
  ['variants', { steps: [resize], variants: [{ parameters: {} }] }],
  ['templateId', { steps: [resize], templateId: 'x' }],
  ['items', { steps: [resize], items: [{}] }],
  ['op', { presetId: 'x', op: 'resize' }],
  ['subjects', { op: 'edit', prompt: 'x', subjects: [hero] }],
  ['subjects', { presetId: 'x', subjects: [hero] }],
  ['subjects', { steps: [resize], subjects: [hero] }],
  ['subjects', { steps: [{ op: 'generate', prompt: 'x', model: 'sandbox-image-draft' }], subjects: [hero] }],
  ['steps[0].prompt', { steps: [{ ...edit, prompt: '{{subject.nobody}}' }], subjects: [hero] }],
  ['prompt', { op: 'edit' }],
  ['prompt', { op: 'generate', prompt: '' }],
  ['prompt', { op: 'generate', prompt: 'x'.repeat(32_001) }],
  ['prompt', { op: 'edit', prompt: 'As {{subject.hero}}' }],
  ['prompt', { op: 'resize', parameters: { width: 5 }, prompt: 'x' }],
  ['model', { op: 'resize', parameters: { width: 5 }, model: 'sandbox-image' }],
  ['model', { op: 'edit', prompt: 'x', model: 'sandbox-vision' }],
  ['model', { op: 'edit', prompt: 'x', model: 'nobody' }],
  ['count', { op: 'generate', prompt: 'x', count: 0 }],
  ['count', { op: 'generate', prompt: 'x', count: 11 }],
  ['count', { op: 'generate', prompt: 'x', count: 1.5 }],
  ['count', { op: 'edit', prompt: 'x', count: 2 }],
  ['count', { op: 'resize', parameters: { width: 5 }, count: 2 }],
  ['count', { steps: [resize], count: 2 }],
  ['assetIds', { op: 'generate', prompt: 'x', assetIds: ['ast_1'] }],
  ['assetIds', { op: 'render_template', templateId: 'x', items: [{}], assetIds: ['ast_1'] }],
  ['parameters.width', { op: 'resize', parameters: { width: 0 } }],
  ['parameters.zoom', { op: 'resize', parameters: { width: 5, zoom: 1 } }],
  ['parameters.frame', { op: 'sepia', parameters: { frame: 'all', format: 'jpeg' } }],
  ['parameters.temperature', { op: 'analyze', parameters: { temperature: 1 } }],
  ['parameters.schema', { op: 'analyze', parameters: { schema: { $ref: 'https://a.test/b' } } }],
  ['variants', { op: 'resize', variants: [] }],
  ['variants', { op: 'resize', variants: big }],
  ['variants[0].size', { op: 'resize', variants: [{ size: 5 }] }],
  [
    'variants[1].parameters.width',
    { op: 'resize', variants: [{ parameters: { width: 5 } }, { parameters: { width: 0 } }] },
  ],
  ['variants[0].parameters.width', { op: 'resize', variants: [{}] }],
  ['parameters.zoom', { op: 'resize', parameters: { zoom: 1 }, variants: [{ parameters: { width: 5 } }] }],
  ['templateId', { op: 'resize', parameters: { width: 5 }, templateId: 'x' }],
  ['items', { op: 'generate', prompt: 'x', items: [{}] }],
  ['templateId', { op: 'render_template', items: [{}] }],
  ['items', { op: 'render_template', templateId: 'x' }],
  ['items', { op: 'render_template', templateId: 'x', items: [] }],
  ['variants', { op: 'render_template', templateId: 'x', items: [{}], variants: [{}] }],
  ['parameters.width', { op: 'render_template', templateId: 'x', items: [{}], parameters: { width: 5 } }],
];

t.test('what cannot run is refused by the name of the field at fault', (t) => {
  for (const [param, body] of REFUSED) {
    const error = refusal(body, { steps: [resize] });
    t.match(error, { code: 'invalid_param', param }, `${param} of ${JSON.stringify(body).slice(0, 90)}`);
  }
  t.end();
});
