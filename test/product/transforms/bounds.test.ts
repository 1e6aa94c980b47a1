// needs: server
import sharp from 'sharp';
import t from 'tap';
import { FRAME_SELECTORS } from '../../../workers/image/frames.ts';
import { openCalls, pngOf, type Query, refusalOf } from './calls.ts';

const calls = await openCalls(t);
const tiny = await pngOf(sharp({ create: { width: 8, height: 8, channels: 4, background: '#80604080' } }));

/** What an op needs beside the parameter under test. */
const REQUIRED: Record<string, Query> = {
  crop: { width: 4, height: 4 },
  compress: { format: 'webp' },
  resize: { width: 4 },
  rotate: { angle: 90 },
  pad: { all: 1 },
  border: { width: 1 },
  round_corners: { radius: 1 },
  convert: { format: 'png' },
  tint: { color: 'red' },
  duotone: { dark: 'black', light: 'white' },
  redact: { regions: [{ x: 0, y: 0, width: 4, height: 4 }] },
  alpha: { opacity: 1 },
  text: { text: 'x' },
  extract_channel: { channel: 'red' },
};
/** What may not stand beside it. */
const WITHOUT: Record<string, string> = {
  'pad.top': 'all',
  'pad.right': 'all',
  'pad.bottom': 'all',
  'pad.left': 'all',
};
/** What it has to come with. */
const ALONGSIDE: Record<string, Query> = {
  'resize.focalX': { height: 4, fit: 'cover' },
  'resize.focalY': { height: 4, fit: 'cover' },
  'crop.focalX': { aspect: '1:1' },
  'crop.focalY': { aspect: '1:1' },
  'crop.gravity': { aspect: '1:1' },
  'normalize.lower': { upper: 100 },
  'normalize.upper': { lower: 0 },
};
/** Parameters that every op takes: shown with one op, for all of them. */
const SHARED = [
  ...['quality', 'effort', 'density', 'lossless', 'metadata', 'frame', 'background', 'format'],
  ...FRAME_SELECTORS,
];

/** Bounds that the interface promises; those of the other parameters are the catalogue's own to set. */
const PROMISED: Record<string, [low: number, high: number]> = {
  'resize.width': [1, 16384],
  'resize.height': [1, 16384],
  'resize.focalX': [0, 1],
  'resize.focalY': [0, 1],
  'resize.dpr': [1, 5],
  'resize.quality': [1, 100],
  'resize.effort': [0, 9],
  'resize.density': [1, 2400],
  'thumbnail.size': [16, 2048],
  'rotate.angle': [-360, 360],
  'trim.threshold': [0, 255],
  'adjust.lightness': [-100, 100],
  'adjust.gamma': [1, 3],
  'alpha.opacity': [0, 1],
  'text.opacity': [0, 1],
};

interface Param {
  type: string;
  min?: number;
  max?: number;
  enum?: string[];
}

const { json: catalogue } = await calls.server.call('/ops');
const ops: { op: string; syncEndpoint?: string; params: Record<string, Param> }[] = catalogue.data;
const here = ops.filter(({ syncEndpoint }) => syncEndpoint === '/images/transform');

const isShownElsewhere = (op: string, name: string) => SHARED.includes(name) && op !== 'resize';

function send(op: string, name: string, value: unknown) {
  const place = `${op}.${name}`;
  const { [WITHOUT[place] ?? '']: _, ...beside } = REQUIRED[op] ?? {};
  const { width, height, ...others } = beside;
  const base = ALONGSIDE[place]?.aspect === undefined ? beside : others;
  return calls.transform({ op, ...base, ...ALONGSIDE[place], [name]: value }, tiny);
}

t.test('the bounds that are promised are the catalogue’s', async (t) => {
  for (const [place, [min, max]] of Object.entries(PROMISED)) {
    const [op = '', name = ''] = place.split('.');
    t.match(ops.find((one) => one.op === op)?.params[name], { min, max }, place);
  }
  t.equal(here.length, 31, 'ops that run here');
});

t.test('a number passes on its bounds and is refused beyond them, by its name', async (t) => {
  let numbers = 0;
  for (const { op, params } of here) {
    for (const [name, { type, min, max }] of Object.entries(params)) {
      const isNumber = type === 'integer' || type === 'number';
      if (!isNumber || min === undefined || max === undefined || isShownElsewhere(op, name)) continue;
      numbers += 1;
      const step = type === 'integer' ? 1 : 0.001;
      const place = `${op}.${name}`;
      for (const value of [min - step, max + step]) {
        const refusal = refusalOf(await send(op, name, value));
        t.match(
          refusal,
          { status: 400, code: 'invalid_param', param: name, details: { received: value } },
          `${place} ${value}`,
        );
        t.ok(refusal.details?.min === min && refusal.details?.max === max, `${place} tells its bounds`);
      }
      for (const value of [min, max]) {
        const { status, code, details } = refusalOf(await send(op, name, value));
        // A number within its bounds may still be too much for eight pixels, but then that is what is said.
        const isTaken =
          status === 200 || (status === 400 && code === 'invalid_param' && details?.min === undefined);
        t.ok(isTaken, `${place} ${value}: ${status} ${code} ${JSON.stringify(details)}`);
      }
      if (type === 'integer')
        t.match(
          refusalOf(await send(op, name, min + 0.5)),
          { status: 400, param: name },
          `${place} is whole`,
        );
      for (const word of ['much', 'NaN', 'Infinity', '0x10', ' 1', '']) {
        t.match(
          refusalOf(await send(op, name, word)),
          { status: 400, param: name },
          `${place} ${JSON.stringify(word)}`,
        );
      }
    }
  }
  t.ok(numbers >= 47, `${numbers} numbers`);
});

t.test('each word of a choice passes, and another is refused with those that do', async (t) => {
  for (const { op, params } of here) {
    for (const [name, { enum: words }] of Object.entries(params)) {
      if (words === undefined || isShownElsewhere(op, name) || name === 'frame') continue;
      for (const word of words) {
        const { status, param } = refusalOf(await send(op, name, word));
        t.ok(status === 200, `${op}.${name} ${word}: ${status} ${param}`);
      }
      t.match(refusalOf(await send(op, name, 'sideways')), {
        status: 400,
        param: name,
        details: { received: 'sideways', allowed: words },
      });
    }
  }
});

t.test('colours, lists, texts and shapes are held to their own rules', async (t) => {
  const region = { x: 0, y: 0, width: 1, height: 1 };
  const regions = (count: number) => Array.from({ length: count }, () => region);
  const passing: [string, Query][] = [
    ['redact', { regions: regions(100) }],
    ['text', { text: 'x'.repeat(500) }],
    ['compress', { minSsim: 0.8, format: 'webp' }],
    ['tint', { color: 'rgb(255, 0, 0)' }],
    ['tint', { color: 'rebeccapurple' }],
    ['tint', { color: '#abc' }],
    ['crop', { aspect: '16:9' }],
    ['round_corners', { radius: '50%' }],
    ['resize', { width: 4, frame: 0 }],
    ['resize', { width: 4, frame: 'first' }],
  ];
  for (const [op, query] of passing)
    t.equal((await calls.transform({ op, ...query }, tiny)).status, 200, JSON.stringify(query).slice(0, 80));
  const refused: [string, Query, string][] = [
    ['redact', { regions: regions(101) }, 'regions'],
    ['redact', { regions: [] }, 'regions'],
    ['redact', { regions: [{ ...region, width: 0 }] }, 'regions'],
    ['redact', { regions: [{ x: 0, y: 0, width: 1 }] }, 'regions'],
    ['redact', { regions: [{ ...region, z: 1 }] }, 'regions'],
    ['redact', { regions: '0,0,1,1' }, 'regions'],
    ['text', { text: 'x'.repeat(501) }, 'text'],
    ['text', { text: '' }, 'text'],
    ['compress', { minSsim: 0.79, format: 'webp' }, 'minSsim'],
    ['compress', { minSsim: 1.01, format: 'webp' }, 'minSsim'],
    ['compress', { minSsim: 0.9 }, 'format'],
    ['compress', { ssimulacra2: 29, format: 'webp' }, 'ssimulacra2'],
    ['compress', { ssimulacra2: 101, format: 'webp' }, 'ssimulacra2'],
    ['compress', { ssimulacra2: 80 }, 'format'],
    ['compress', {}, 'maxBytes'],
    ['compress', { maxBytes: 100, format: 'avif' }, 'maxBytes'],
    ['compress', { maxBytes: 1000, minSsim: 0.9, format: 'webp' }, 'minSsim'],
    ['tint', { color: 'reddish' }, 'color'],
    ['tint', { color: '#12345' }, 'color'],
    ['resize', { width: 4, background: 'url(x)' }, 'background'],
    ['crop', { aspect: '16x9' }, 'aspect'],
    ['crop', { aspect: '0:1' }, 'aspect'],
    ['crop', { aspect: '1:1', x: 1 }, 'x'],
    ['crop', { x: 1, y: 1 }, 'width'],
    ['round_corners', { radius: '51%' }, 'radius'],
    ['round_corners', { radius: -1 }, 'radius'],
    ['resize', { width: 4, frame: -1 }, 'frame'],
    ['resize', { width: 4, frame: 'last' }, 'frame'],
    ['resize', { width: 4, format: 'bmp' }, 'format'],
    ['resize', { width: 9000, dpr: 2 }, 'dpr'],
    ['resize', { width: 4, gravity: 'north', focalX: 0.5 }, 'gravity'],
    ['pad', { all: 1, top: 1 }, 'top'],
    ['pad', {}, 'all'],
    ['normalize', { lower: 60, upper: 40 }, 'lower'],
    ['convert', {}, 'format'],
    ['rotate', {}, 'angle'],
    ['text', {}, 'text'],
    ['alpha', {}, 'opacity'],
  ];
  for (const [op, query, param] of refused) {
    const answer = await calls.transform({ op, ...query }, tiny);
    t.match(
      refusalOf(answer),
      { status: 400, code: 'invalid_param', param, retryable: false },
      `${op} ${JSON.stringify(query).slice(0, 80)}`,
    );
    t.match(answer.json.error.message, /^[^\n]{20,300}[.?]$/, 'sentences for a person');
  }
});

t.test('the smallest pictures are pictures to every op', async (t) => {
  const examples: { op: string; example: { parameters: Query } }[] = catalogue.data.filter(
    ({ syncEndpoint }: { syncEndpoint?: string }) => syncEndpoint === '/images/transform',
  );
  for (const [width, height] of [
    [1, 1],
    [1, 40],
    [40, 1],
    [2, 3],
  ] as const) {
    const speck = await pngOf(sharp({ create: { width, height, channels: 3, background: '#806040' } }));
    for (const { op, example } of examples) {
      const { metadata: _, ...given } = example.parameters;
      const query =
        op === 'redact'
          ? { regions: [{ x: 0, y: 0, width: 9, height: 9 }] }
          : op === 'crop'
            ? { aspect: '1:1' }
            : given;
      const answer = await calls.transform({ op, ...query }, speck);
      t.equal(answer.status, 200, `${op} on ${width} × ${height}: ${answer.json?.error?.message}`);
    }
  }
});
