// needs: nothing
import type { TSchema } from '@sinclair/typebox';
import t from 'tap';
import { ApiError, sentFieldAt } from '../../../src/platform/http/errors/errors.ts';
import { checkOpParameters, sentFieldOfCall } from '../../../src/product/catalogue/checks/check.ts';
import { findOp, OPS } from '../../../src/product/catalogue/index.ts';
import type { GivenParameters, Op } from '../../../src/product/catalogue/op.ts';
import { surroundingsOf } from './surroundings.ts';

/**
 * What the check refuses, or undefined when it takes the parameters.
 * @param where the prefix of a parameter's name; '' for a query.
 */
function refusal(name: string, given: unknown, where = ''): ApiError | undefined {
  const op = findOp(name);
  if (op === undefined) throw new Error(`no op ${name}`);
  try {
    const step = where.replace('parameters.', '');
    checkOpParameters(op, given, where === '' ? sentFieldOfCall : (key) => sentFieldAt(`${step}${key}`));
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/** Parameters of AI image ops go to the model as sent: nothing of theirs is refused here. */
const CHECKED = Object.values<Op>(OPS).filter((op) => op.runs !== 'model' || !op.sendsParametersUnchanged);

t.test('each number is taken up to its bounds and refused past them, naming itself', (t) => {
  for (const op of CHECKED) {
    for (const [name, schema] of Object.entries(op.parameters.properties)) {
      for (const { minimum, maximum, type } of (schema.anyOf ?? [schema]) as TSchema[]) {
        const pastBy = type === 'integer' ? 1 : 0.001;
        const around = surroundingsOf(op, name);
        const at = (value: number) => refusal(op.op, { ...around, [name]: value }, 'parameters.');
        for (const [bound, past] of [
          [minimum, minimum - pastBy],
          [maximum, maximum + pastBy],
        ]) {
          if (bound === undefined) continue;
          t.equal(at(bound)?.message, undefined, `${op.op}.${name} may be ${bound}`);
          t.match(
            at(past),
            { code: 'invalid_param', param: `parameters.${name}` },
            `${op.op}.${name} not ${past}`,
          );
        }
      }
    }
  }
  t.end();
});

t.test('each word of a choice is taken, any other is refused with the words allowed', (t) => {
  for (const op of Object.values<Op>(OPS)) {
    for (const [name, schema] of Object.entries(op.parameters.properties)) {
      if (schema.enum === undefined || schema.type !== 'string') continue;
      const around = surroundingsOf(op, name);
      for (const word of schema.enum)
        t.equal(refusal(op.op, { ...around, [name]: word }), undefined, `${name} ${word}`);
      const details = { allowed: schema.enum, received: 'nonsense' };
      t.match(
        refusal(op.op, { ...around, [name]: 'nonsense' }),
        { param: name, details },
        `${op.op}.${name}`,
      );
    }
  }
  t.end();
});

t.test('a refusal names the parameter behind the given place, and says how to fix the call', (t) => {
  const table: [string, unknown, string, string, RegExp][] = [
    ['resize', { width: 0 }, '', 'width', /width is 0, but a whole number from 1 to 16384 is expected\./],
    ['resize', { width: '5' }, 'parameters.', 'parameters.width', /width is "5", but a whole number/],
    ['resize', { width: 5.5 }, '', 'width', /whole number/],
    [
      'resize',
      { width: 5, zoom: 2 },
      'steps[3].parameters.',
      'steps[3].parameters.zoom',
      /zoom is not a parameter of resize, which takes .*width, height/,
    ],
    ['blur', { sigma: Number.NaN }, '', 'sigma', /sigma is null, but a number from 0\.3 to 250/],
    ['tint', {}, '', 'color', /color is missing, and tint needs it: send a CSS colour/],
    ['tint', { color: 'reddish' }, '', 'color', /color is "reddish", but a CSS colour such as/],
    ['crop', { aspect: '16/9' }, '', 'aspect', /text such as 16:9/],
    [
      'rotate',
      { angle: 90, frame: 'last' },
      '',
      'frame',
      /frame is "last", but first or all or a whole number of at least 0/,
    ],
    ['redact', { regions: [{ x: 1, y: 1, width: 0, height: 4 }] }, '', 'regions', /regions\[0\]\.width is 0/],
    ['redact', { regions: [{ x: 1, y: 1, width: 4 }] }, '', 'regions', /regions\[0\]\.height is missing/],
    [
      'redact',
      { regions: [{ x: 1, y: 1, width: 4, height: 4, z: 1 }] },
      '',
      'regions',
      /regions\[0\]\.z is not a parameter of regions\[0\], which takes x, y/,
    ],
    ['compress', { width: 800 }, '', 'width', /resize, .* take it: .* several ops as steps/],
    ['redact', { regions: [] }, '', 'regions', /a list of 1 to 100 entries/],
    ['round_corners', { radius: '51%' }, '', 'radius', /whole number from 0 to 8192 or text such as 50%/],
    ['grayscale', [], 'parameters.', 'parameters', /grayscale is \[\], but an object is expected/],
    ['grayscale', 'x', '', 'parameters', /an object/],
    ['render_template', { width: 3 }, 'parameters.', 'parameters.width', /render_template, which takes none/],
    ['upscale', 'large', 'parameters.', 'parameters', /an object is expected/],
    ['analyze', { schema: {} }, 'parameters.', 'parameters.schema', /an object/],
    ['analyze', { temperature: 1 }, 'parameters.', 'parameters.temperature', /analyze, which takes schema/],
  ];
  for (const [op, given, where, param, message] of table) {
    t.match(
      refusal(op, given, where),
      { status: 400, code: 'invalid_param', param, message },
      `${op} ${param}`,
    );
  }
  t.match(refusal('resize', { width: 0 })?.details, { received: 0, min: 1, max: 16384 });
  t.strictSame(refusal('tint', {})?.details, { missing: ['color'] });
  t.end();
});

t.test('parameters that do not fit each other are refused on one of them', (t) => {
  const table: [string, GivenParameters, string | undefined][] = [
    ['resize', {}, 'width'],
    ['resize', { height: 5 }, undefined],
    ['resize', { width: 16384, dpr: 2 }, 'dpr'],
    ['resize', { width: 8192, dpr: 2 }, undefined],
    ['resize', { width: 5, gravity: 'north', focalX: 0.5 }, 'gravity'],
    ['crop', {}, 'width'],
    ['crop', { width: 5 }, 'height'],
    ['crop', { width: 5, height: 5 }, undefined],
    ['crop', { width: 5, height: 5, gravity: 'north' }, 'gravity'],
    ['crop', { aspect: '1:1', width: 5 }, 'width'],
    ['crop', { aspect: '1:1', focalY: 0.2, gravity: 'north' }, 'gravity'],
    ['pad', {}, 'all'],
    ['pad', { all: 5 }, undefined],
    ['pad', { all: 5, left: 3 }, 'left'],
    ['compress', {}, 'maxBytes'],
    ['compress', { maxBytes: 1000, minSsim: 0.9, format: 'webp' }, 'minSsim'],
    ['compress', { minSsim: 0.9 }, 'format'],
    ['compress', { minSsim: 0.9, ssimulacra2: 80, format: 'webp' }, 'ssimulacra2'],
    ['compress', { ssimulacra2: 80 }, 'format'],
    ['normalize', { lower: 60, upper: 60 }, 'lower'],
    ['normalize', { lower: 99 }, 'lower'],
    ['overlay', { layerAssetId: 'ast_1', x: 5 }, 'y'],
    ['overlay', { layerAssetId: 'ast_1', x: 5, y: 5, margin: 8 }, 'margin'],
    ['rotate', { angle: 90, frame: 'all', format: 'webp' }, undefined],
    ['convert', { format: 'jpeg', lossless: true }, 'lossless'],
    ['convert', { format: 'tiff', lossless: true, quality: 50 }, 'lossless'],
    ['convert', { format: 'gif', lossless: true }, 'lossless'],
    ['convert', { format: 'png', lossless: true, palette: true }, 'lossless'],
    ['convert', { format: 'png', lossless: true }, undefined],
    ['convert', { format: 'avif', lossless: true }, undefined],
    ['convert', {}, 'format'],
  ];
  for (const [op, given, key] of table) {
    const param = key && `steps[1].parameters.${key}`;
    t.equal(refusal(op, given, 'steps[1].parameters.')?.param, param, `${op} ${JSON.stringify(given)}`);
  }
  t.end();
});

t.test('colours are CSS colours', (t) => {
  const good = [
    'red',
    'RebeccaPurple',
    'transparent',
    '#abc',
    '#abcd',
    '#aabbcc',
    '#AABBCCDD',
    'rgb(1,2,3)',
    'rgba(1, 2, 3, .5)',
    'rgb(1 2 3 / 50%)',
    'hsl(120, 50%, 50%)',
    'hsla(120deg 50% 50% / 1)',
    'hsla(0,100%,50%,50%)',
    'hsl(0.5turn 100% 50%)',
    'hsl(200grad, 100%, 50%, .5)',
    'hsl(3.14rad 100% 50% / 50%)',
    'hsl(120 100 50)',
    'hsl(none 0% 50%)',
    'hwb(0.5turn 0% 0% / 1)',
    'lab(50% 40 59)',
    'oklch(60% 0.15 50 / 50%)',
    'color(display-p3 1 0.5 0)',
    'rgb(100% 50% 0 / .5)',
    'rgba(100%, 50%, 0%, 50%)',
    'rgb(1e2 2.5 -3)',
  ];
  const bad = [
    '',
    'reddish',
    '#ab',
    '#abcde',
    'rgb(1,2)',
    'rgb(1,2,3',
    'hsl(1,2,3)',
    'hsl(1 2 3 4)',
    'hsl(1 2 3 / 4 / 5)',
    'hsl(1%, 2%, 3%)',
    'hwb(1, 2%, 3%)',
    'rgb(1, 2%, 3)',
    'rgb(1deg 2 3)',
    'rgb(1 2 3 / 1deg)',
    'rgb(1 2 / 3)',
    'rgb()',
    'rgb(1,,2)',
    '#ggg',
    'url(x)',
    'red;',
  ];
  for (const color of good) t.equal(refusal('tint', { color }), undefined, color);
  t.match(refusal('tint', { color: 'reddish' })?.message, /such as orange, #ff8800, rgb.*hsl.*oklch/);
  for (const color of bad) t.equal(refusal('tint', { color })?.param, 'color', color);
  t.end();
});

t.test('an image model takes parameters of its own as they are sent', (t) => {
  t.equal(refusal('generate', { size: '1024x1024', style: 'vivid', seed: -1 }), undefined);
  t.equal(refusal('upscale', { scale: 3 }), undefined, 'the model has the last word');
  t.equal(refusal('edit', undefined), undefined);
  t.end();
});
