// needs: nothing, alone
import type { TSchema } from '@sinclair/typebox';
import t from 'tap';
import { sentFieldAt } from '../../../src/platform/http/errors/errors.ts';
import { checkOpParameters } from '../../../src/product/catalogue/checks/check.ts';
import { OPS } from '../../../src/product/catalogue/index.ts';
import type { GivenParameters, Op, PixelOp } from '../../../src/product/catalogue/op.ts';
import { compileSteps } from '../../../src/product/catalogue/plan/compile.ts';
import { sentSteps } from '../../../src/product/catalogue/plan/step.ts';
import { onlyOfferedModels, readModels } from '../../../src/product/models/models.ts';
import { layersOf, OPERATIONS } from '../../../workers/image/operations/index.ts';
import { surroundingsOf } from './surroundings.ts';

const models = onlyOfferedModels(readModels(), (provider) => provider === 'sandbox');
const pixelOps = Object.values<Op>(OPS).filter((op) => op.runs === 'pass');

/** Compiles, and holds every step against the registry. */
function compiledFor(op: PixelOp, given: GivenParameters) {
  const fragment = op.compile(checkOpParameters(op, given));
  compileSteps(sentSteps(fragment.steps), models);
  return fragment;
}

t.test('the registry is read without loading libvips', (t) => {
  const { sharedObjects } = process.report.getReport() as unknown as { sharedObjects: string[] };
  t.notOk(sharedObjects.some((file) => file.includes('vips') || file.includes('sharp')));
  t.end();
});

t.test('every example compiles to steps that the registry takes', (t) => {
  for (const op of pixelOps) t.doesNotThrow(() => compiledFor(op, op.example.parameters), op.op);
  t.end();
});

t.test('every bound, word and flag that an op allows is one that the registry takes', (t) => {
  for (const op of pixelOps) {
    for (const [name, schema] of Object.entries(op.parameters.properties)) {
      for (const value of ((schema.anyOf ?? [schema]) as TSchema[]).flatMap(valuesOf)) {
        const given = { ...surroundingsOf(op, name), [name]: value };
        t.doesNotThrow(() => compiledFor(op, given), `${op.op}.${name} ${value}`);
      }
    }
  }
  t.end();
});

function valuesOf(schema: TSchema): unknown[] {
  if (schema.enum !== undefined) return schema.enum;
  if (schema.type === 'boolean') return [true, false];
  return [schema.const, schema.minimum, schema.maximum].filter((value) => value !== undefined);
}

t.test('a default of an op never contradicts what the registry takes', (t) => {
  for (const op of pixelOps) {
    const required: string[] = op.parameters.required ?? [];
    const needed = Object.entries(op.example.parameters).filter(([name]) => required.includes(name));
    const sizes: GivenParameters = op.op === 'resize' || op.op === 'crop' ? { width: 5, height: 5 } : {};
    const rest: GivenParameters =
      op.op === 'pad' ? { all: 5 } : op.op === 'compress' ? { maxBytes: 5000 } : sizes;
    t.doesNotThrow(() => compiledFor(op, { ...rest, ...Object.fromEntries(needed) }), op.op);
  }
  t.end();
});

t.test(
  'a registry step is refused on its operation, or on its params with the argument named in words',
  (t) => {
    const refused: [string, unknown, string, RegExp][] = [
      ['zoom', {}, 'steps[4].operation', /no operation "zoom": it has resize, crop, extract/],
      ['constructor', {}, 'steps[4].operation', /no operation/],
      ['grayscale', {}, 'steps[4].operation', /no operation "grayscale"/],
      ['blur', { sigma: 0 }, 'steps[4].params', /sigma is 0, but a number from 0\.3 to/],
      [
        'blur',
        { sigma: 5, radius: 3 },
        'steps[4].params',
        /radius is not a parameter of blur, which takes sigma/,
      ],
      ['extract', {}, 'steps[4].params', /is missing, and extract needs it/],
      ['flip', [], 'steps[4].params', /an object is expected/],
      ['jpeg', { lossless: true }, 'steps[4].params', /lossless is not a parameter of jpeg/],
      ['resize', { fit: 'cover' }, 'steps[4].params', /width and height are both missing/],
      ['normalise', { lower: 99 }, 'steps[4].params', /lower is 99, but it must be below upper, which is 99/],
      [
        'recomb',
        {
          matrix: [
            [1, 0, 0],
            [0, 1, 0],
            [0, 0, 1, 0],
          ],
        },
        'steps[4].params',
        /matrix is not square/,
      ],
      [
        'convolve',
        { width: 3, height: 5, kernel: new Array(9).fill(1) },
        'steps[4].params',
        /9 weights, but 3 × 5 are expected/,
      ],
    ];
    for (const [operation, params, param, message] of refused) {
      const step = { operation, params, findField: (key: string) => sentFieldAt(`steps[4].${key}`) };
      t.throws(() => compileSteps([step], models), {
        code: 'invalid_param',
        param,
        message,
      });
    }
    t.throws(() => compileSteps(sentSteps([{ operation: 'zoom' }]), models), {
      details: { allowed: Object.keys(OPERATIONS) },
      code: 'invalid_param',
    });
    t.end();
  },
);

t.test('registry steps join a pass like ops: pixels as steps, formats and decoding as settings', (t) => {
  const steps = [
    { operation: 'decode', params: { frame: 'all' } },
    { operation: 'greyscale' },
    { operation: 'keepMetadata', params: { metadata: 'keep' } },
    { operation: 'webp', params: { quality: 50 } },
  ];
  const [segment, ...others] = compileSteps(sentSteps(steps), models);
  t.strictSame(segment?.runs === 'pass' && segment.pass, {
    decode: { frame: 'all' },
    steps: [{ operation: 'greyscale', params: {} }],
    encode: { metadata: 'keep', quality: 50, format: 'webp' },
  });
  t.strictSame(others, []);
  t.throws(() => compileSteps(sentSteps([...steps, { operation: 'png' }]), models), {
    param: 'steps[0].params',
    message: /^frame is all, but the pass writes png/,
  });
  t.end();
});

t.test('steps that read a second asset are told apart', (t) => {
  const steps = [
    { operation: 'composite', params: { layerAssetId: 'ast_a' } },
    { operation: 'greyscale', params: {} },
    { operation: 'boolean', params: { assetId: 'ast_b', operator: 'and' } },
    { operation: 'joinChannel', params: { assetId: 'ast_c' } },
  ];
  t.strictSame(layersOf(steps), [
    { assetId: 'ast_a', key: 'layerAssetId' },
    { assetId: 'ast_b', key: 'assetId' },
    { assetId: 'ast_c', key: 'assetId' },
  ]);
  t.strictSame(layersOf(compiledFor(OPS.overlay, { layerAssetId: 'ast_x' }).steps), [
    { assetId: 'ast_x', key: 'layerAssetId' },
  ]);
  t.end();
});
