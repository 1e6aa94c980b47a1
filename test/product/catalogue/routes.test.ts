// needs: nothing
import Fastify from 'fastify';
import t from 'tap';
import { installErrorHandler } from '../../../src/platform/http/errors/failures.ts';
import { installValidation } from '../../../src/platform/http/errors/validation.ts';
import { readPlans } from '../../../src/product/billing/plans.ts';
import { OP_NAMES } from '../../../src/product/catalogue/index.ts';
import { openCatalogue } from '../../../src/product/catalogue/open.ts';
import { readModels } from '../../../src/product/models/models.ts';
import { openModels } from '../../../src/product/models/open.ts';

const INSTALLED_AT = new Date('2026-01-02T03:04:05.000Z');

async function ask(path: string) {
  const app = Fastify();
  installErrorHandler(app);
  installValidation(app);
  const options = {
    plans: readPlans(),
    models: readModels(),
    installedAt: INSTALLED_AT,
    typicalSecondsOf: (op: string, model: string) => (op === 'edit' && model !== '' ? 7 : undefined),
  };
  const catalogue = openCatalogue(options);
  await app.register(catalogue.routes, { prefix: '/api/v1' });
  await app.register(openModels(options).routes, { prefix: '/api/v1' });
  await app.register(catalogue.priceRoutes, { prefix: '/api' });
  const answer = await app.inject(path);
  await app.close();
  return { status: answer.statusCode, body: answer.json() };
}

t.test('the catalogue is one unpaged list, and each op can be read alone', async (t) => {
  const { status, body } = await ask('/api/v1/ops');
  t.equal(status, 200);
  t.strictSame(
    body.data.map(({ op }: { op: string }) => op),
    OP_NAMES,
  );
  t.notOk(Object.hasOwn(body, 'meta'));
  const one = await ask('/api/v1/ops/redact');
  t.strictSame(one.body.data, body.data[OP_NAMES.indexOf('redact')]);
  t.strictSame(one.body.data.example.parameters.regions, [{ x: 40, y: 60, width: 200, height: 80 }]);
  t.strictSame(one.body.data.pricing.processLimit, { free: 500, pro: 10_000, scale: -1 });
  t.equal((await ask('/api/v1/ops/analyze')).body.data.defaultSchema.type, 'object');
  t.equal((await ask('/api/v1/ops/resize')).body.data.params.enlarge.default, false);
});

t.test('an unknown op is 404 with the ops that there are', async (t) => {
  for (const name of ['zoom', 'constructor', '%5F%5Fproto__']) {
    const { status, body } = await ask(`/api/v1/ops/${name}`);
    t.equal(status, 404);
    t.match(body.error, { code: 'not_found', param: 'op', message: /resize, crop, .*analyze/ });
  }
});

t.test('how long an item typically takes is told where it was measured', async (t) => {
  t.equal((await ask('/api/v1/ops/edit')).body.data.typicalSeconds, 7);
  t.notOk('typicalSeconds' in (await ask('/api/v1/ops/generate')).body.data);
  const listed = (await ask('/api/v1/ops')).body.data;
  t.strictSame(
    listed.flatMap(({ op, typicalSeconds }: Record<string, unknown>) => (typicalSeconds ? [op] : [])),
    ['edit'],
  );
});

t.test('models are listed by mode; a mode that is none is refused', async (t) => {
  const images = await ask('/api/v1/ai-models');
  t.strictSame(images.body.data, (await ask('/api/v1/ai-models?mode=ai_image')).body.data);
  t.ok(images.body.data.every(({ mode }: { mode: string }) => mode === 'ai_image'));
  t.ok(images.body.data.some((model: Record<string, unknown>) => model.max_input_images === null));
  t.match(images.body.data[0].parameters[0], { key: /./, label: /./, type: /./ });
  const analyzers = await ask('/api/v1/ai-models?mode=analyze');
  t.ok(analyzers.body.data.every(({ mode }: { mode: string }) => mode === 'analyze'));
  const { status, body } = await ask('/api/v1/ai-models?mode=video');
  t.equal(status, 400);
  t.match(body.error, {
    code: 'invalid_param',
    param: 'mode',
    details: { allowed: ['ai_image', 'analyze'] },
  });
});

t.test('the price list has every model and every op', async (t) => {
  const { status, body } = await ask('/api/pricing/image-models');
  t.equal(status, 200);
  t.strictSame(Object.keys(body.data).sort(), ['creditsPerUsd', 'markup', 'models', 'ops']);
  t.strictSame(
    body.data.ops.map(({ op }: { op: string }) => op),
    OP_NAMES,
  );
  t.match(body.data.ops[0], { op: 'resize', basis: 'process_quota', summary: /allowance/ });
  t.match(body.data.models[0], { priceFrom: /^\d/, providerPrice: /^\d/, categories: ['generate', 'edit'] });
});

t.test('the guidelines are Markdown made from the catalogue', async (t) => {
  const { body } = await ask('/api/v1/agent-guidelines');
  t.equal(body.data.updatedAt, INSTALLED_AT.toISOString());
  t.match(body.data.version, /^[0-9a-f]{12}$/);
  t.equal(body.data.version, (await ask('/api/v1/agent-guidelines')).body.data.version);
  for (const op of OP_NAMES) t.match(body.data.document, `### ${op}\n`);
  t.match(body.data.document, '- width: integer 1 to 16384.');
  t.match(body.data.document, '- frame: first, all or integer of at least 0. ');
  t.match(body.data.document, '- radius: integer 0 to 8192 or string. ');
  t.match(body.data.document, /- color: string of 3 to 64 characters/);
  t.match(body.data.document, '- regions: array of 1 to 100 entries. ');
  t.notMatch(
    body.data.document,
    / to {2}|string \d+ to/,
    'no bound is left open, and no length looks like a value',
  );
});

t.test('view=names lists the name, kind and description of each op alone', async (t) => {
  const whole = await ask('/api/v1/ops');
  const { status, body } = await ask('/api/v1/ops?view=names');
  t.equal(status, 200);
  t.same(
    body.data,
    whole.body.data.map(({ op, kind, description }: Record<string, string>) => ({ op, kind, description })),
  );
  t.ok(JSON.stringify(body).length * 8 < JSON.stringify(whole.body).length);
  t.match((await ask('/api/v1/ops?view=all')).body.error, { param: 'view' });
});
