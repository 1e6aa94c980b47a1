import t from 'tap';
import { modelDto } from '../../src/models/dto.ts';
import { findModel, modelRunning, modelsFor, modelsOf, readModels } from '../../src/models/models.ts';
import { creditsPerItem, imageModelPrice } from '../../src/models/prices.ts';

const models = readModels();
const base = models.models[0];
if (base === undefined) throw new Error('models.json is empty');

t.test('models are listed by mode and found by id', (t) => {
  t.ok(modelsOf(models, 'ai_image').length > 1);
  t.ok(modelsOf(models, 'analyze').length > 1);
  t.equal(modelsOf(models, 'ai_image').length + modelsOf(models, 'analyze').length, models.models.length);
  t.equal(new Set(models.models.map(({ id }) => id)).size, models.models.length, 'no id is given twice');
  t.equal(findModel(models, base.id), base);
  t.equal(findModel(models, 'none'), undefined);
  t.end();
});

t.test(
  'every category has a model, and naming one that does not carry it is refused with those that do',
  (t) => {
    for (const category of ['generate', 'edit', 'upscale', 'remove_background', 'expand', 'analyze']) {
      const fitting = modelsFor(models, category).map(({ id }) => id);
      t.ok(fitting.length > 0, category);
      t.equal(modelRunning(models, fitting[0] ?? '', category, 'model').id, fitting[0]);
      t.throws(() => modelRunning(models, 'nobody', category, 'steps[2].model'), {
        code: 'invalid_param',
        param: 'steps[2].model',
        details: { received: 'nobody', allowed: fitting },
      });
    }
    t.throws(() => modelRunning(models, 'cutout-2', 'generate', 'model'), {
      code: 'invalid_param',
      param: 'model',
    });
    t.end();
  },
);

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
    ['2', '2', 0, 10, { priceFrom: '2', priceRange: '$2', credits: 20 }],
  ];
  for (const [min, max, markup, creditsPerUsd, { credits, ...price }] of table) {
    const model = { ...base, providerPrice: { min, max } };
    const book = { ...models, markup, creditsPerUsd };
    t.match(imageModelPrice(book, model), { ...price, providerPrice: min });
    t.equal(imageModelPrice(book, model).providerPriceRange, min === max ? undefined : `$${min} - $${max}`);
    t.equal(creditsPerItem(book, model), credits);
  }
  t.end();
});

t.test('a model is shown with the fields that it has', (t) => {
  const image = modelDto(models, base);
  t.match(image, {
    id: base.id,
    mode: 'ai_image',
    image_price_range: /^\$/,
    max_input_images: 4,
    image_required: false,
  });
  t.notOk(Object.hasOwn(image, 'prompt_price'));
  const analyzer = modelsOf(models, 'analyze').map((model) => modelDto(models, model))[0];
  t.match(analyzer, { prompt_price: /^\d/, completion_price: /^\d/, support_structured_output: true });
  const draft = models.models.find(({ maxInputImages }) => maxInputImages === null);
  t.match(draft && modelDto(models, draft), { image_required: null, max_input_images: null });
  t.end();
});

t.test('a broken models.json is refused, naming every fault', (t) => {
  const broken = { ...models, markup: -1, models: [{ ...base, providerPrice: { min: 'cheap', max: '1' } }] };
  t.throws(() => readModels(broken), { message: /markup must be >= 0[\s\S]*models\/0\/providerPrice\/min/ });
  t.end();
});
