// needs: nothing
import t from 'tap';
import { sentFieldAt } from '../../../src/platform/http/errors/errors.ts';
import {
  chooseModel,
  defaultModelFor,
  findModel,
  type Model,
  type ModelsFile,
  modelsOfCategory,
  modelsOfMode,
  onlyOfferedModels,
  readModels,
} from '../../../src/product/models/models.ts';
import { modelDataOf } from '../../../src/product/models/open.ts';
import { creditsPerItem, imageModelPrice, lowestCreditsPerItem } from '../../../src/product/models/prices.ts';

const models = readModels();
const sandbox = onlyOfferedModels(models, (provider) => provider === 'sandbox');
const draft = modelNamed('sandbox-image-draft');

function modelNamed(id: string): Model {
  const model = findModel(models, id);
  if (model === undefined) throw new Error(`models.json lacks ${id}`);
  return model;
}

t.test('models are listed by mode and found by id', (t) => {
  t.ok(modelsOfMode(models, 'ai_image').length > 1);
  t.equal(
    modelsOfMode(models, 'ai_image').length + modelsOfMode(models, 'analyze').length,
    models.models.length,
  );
  t.equal(findModel(models, 'none'), undefined);
  t.end();
});

t.test('every category has a model, and naming one that does not carry it is refused', (t) => {
  for (const category of ['generate', 'edit', 'upscale', 'remove_background', 'expand', 'analyze']) {
    const fitting = modelsOfCategory(sandbox, category).map(({ id }) => id);
    t.equal(chooseModel(sandbox, fitting.at(-1), category, sentFieldAt('model')).id, fitting.at(-1));
    t.equal(
      chooseModel(sandbox, undefined, category, sentFieldAt('model')).id,
      fitting[0],
      'the first is the default',
    );
    t.throws(() => chooseModel(sandbox, 'nobody', category, sentFieldAt('steps[2].model')), {
      code: 'invalid_param',
      param: 'steps[2].model',
      details: { received: 'nobody', allowed: fitting },
    });
  }
  t.throws(() => chooseModel(sandbox, 'sandbox-vision', 'generate', sentFieldAt('model')), {
    message: /is not offered/,
    param: 'model',
  });
  t.end();
});

t.test('what is not offered has no default, and leaving the model out is refused too', (t) => {
  const none = onlyOfferedModels(models, () => false);
  t.equal(defaultModelFor(none, 'edit'), undefined);
  t.throws(() => chooseModel(none, undefined, 'edit', sentFieldAt('model')), {
    param: 'model',
    details: { allowed: [] },
    message: /the operator of this service has configured no provider for it, by OPENAI_API_KEY, /,
  });
  t.end();
});

t.test('the file lists real models before the sandbox, so that a key moves the default', (t) => {
  const providers = models.models.map(({ provider }) => provider);
  const firstSandbox = providers.indexOf('sandbox');
  for (const [index, provider] of providers.entries())
    if (index > firstSandbox) t.ok(['sandbox', 'local'].includes(provider), `${provider} at ${index}`);
  t.end();
});

t.test('a price is the provider price with the markup, exact in decimals, and whole credits', (t) => {
  const table: [
    string,
    string,
    number,
    number,
    { priceFrom: string; priceRange: string; credits: number },
  ][] = [
    ['0.04', '0.04', 0.2, 1000, { priceFrom: '0.048', priceRange: '$0.048', credits: 48 }],
    ['0.03', '0.12', 0.2, 1000, { priceFrom: '0.036', priceRange: '$0.036 - $0.144', credits: 36 }],
    ['0.1', '0.1', 0.1, 100, { priceFrom: '0.11', priceRange: '$0.11', credits: 11 }],
    ['0.0001', '0.0001', 0, 100, { priceFrom: '0.0001', priceRange: '$0.0001', credits: 1 }],
    ['0', '0', 0.2, 1000, { priceFrom: '0', priceRange: '$0', credits: 1 }],
    ['2', '2', 0, 10, { priceFrom: '2', priceRange: '$2', credits: 20 }],
    ['0.29', '0.29', 0.1, 1000, { priceFrom: '0.319', priceRange: '$0.319', credits: 319 }],
  ];
  for (const [low, high, markup, creditsPerUsd, { credits, ...price }] of table) {
    const rows = [low, high].map((usd, index) => ({ when: { tier: index }, usd }));
    const model = { ...draft, price: { ...draft.price, by: ['tier'], rows } };
    const book: ModelsFile = { ...models, markup, creditsPerUsd };
    t.match(imageModelPrice(book, model), { ...price, providerPrice: low });
    t.equal(imageModelPrice(book, model).providerPriceRange, low === high ? undefined : `$${low} - $${high}`);
    t.equal(lowestCreditsPerItem(book, model), credits);
  }
  t.end();
});

t.test('parameters decide a price: by default, as sent, and at its highest for what the list lacks', (t) => {
  const table: [object, number][] = [
    [{}, 3],
    [{ quality: 'low' }, 3],
    [{ quality: 'high' }, 8],
    [{ quality: 'ultra' }, 8],
    [{ quality: null }, 3],
    [{ quality: { low: 1 } }, 8],
    [{ size: '64x64', quality: 'low' }, 3],
  ];
  for (const [parameters, credits] of table)
    t.equal(creditsPerItem(models, draft, { ...parameters }), credits, JSON.stringify(parameters));
  t.equal(creditsPerItem(models, modelNamed('sandbox-image'), {}), 12);
  t.equal(creditsPerItem(models, modelNamed('sandbox-vision'), {}), 2);
  const rows = [
    { when: { quality: 'low', size: 'small' }, usd: '1' },
    { when: { quality: 'low', size: 'large' }, usd: '2' },
    { when: { quality: 'high', size: 'small' }, usd: '3' },
    { when: { quality: 'high', size: 'large' }, usd: '4' },
  ];
  const grid = { ...draft, price: { ...draft.price, by: ['quality', 'size'], rows } };
  const dollars = (parameters: object) =>
    creditsPerItem({ ...models, markup: 0, creditsPerUsd: 1 }, grid, { ...parameters });
  t.equal(dollars({ size: 'small', quality: 'high' }), 3);
  t.equal(dollars({ size: 'huge', quality: 'low' }), 2, 'the highest of what is known');
  t.equal(dollars({ size: 'small', quality: 'odd' }), 3);
  t.equal(dollars({ size: 'huge', quality: 'odd' }), 4);
  t.end();
});

t.test('a model is shown with the fields that it has', (t) => {
  t.match(modelDataOf(models, modelNamed('sandbox-image')), {
    mode: 'ai_image',
    image_price_range: '$0.012',
    provider_price: '0.01',
    credits_per_item: { min: 12, max: 12 },
    max_input_edge: 1024,
    max_input_images: 5,
    image_required: false,
  });
  const shown = modelDataOf(models, draft);
  t.match(shown, { image_required: null, max_input_images: null, provider_price_range: '$0.002 - $0.006' });
  t.same(shown.credits_per_item, { min: 3, max: 8 });
  t.notOk(Object.hasOwn(shown, 'prompt_price'));
  t.notOk(Object.hasOwn(shown, 'max_input_edge'), 'it takes no image');
  t.match(modelDataOf(models, modelNamed('sandbox-vision')), { support_structured_output: true });
  t.end();
});

t.test('a broken models.json is refused, naming every fault', (t) => {
  const price = { ...draft.price, rows: [{ when: {}, usd: 'cheap' }] };
  const broken = { ...models, markup: -1, models: [{ ...draft, price }] };
  t.throws(() => readModels(broken), { message: /markup must be >= 0[\s\S]*models\/0\/price\/rows\/0\/usd/ });
  t.throws(() => readModels({ ...models, models: [draft, draft] }), { message: /sandbox-image-draft twice/ });
  t.end();
});
