// needs: server
import sharp from 'sharp';
import t from 'tap';
import { OPS } from '../../../src/product/catalogue/index.ts';
import type { Op } from '../../../src/product/catalogue/op.ts';
import type { Answer } from '../../support/harness.ts';
import { openCalls, type Query } from './calls.ts';

const BITS: Readonly<Record<string, number>> = { uchar: 8, ushort: 16 };
const calls = await openCalls(t);

/** What an answer says of its bits, and what its file has. */
async function bitsOf({ status, headers, bytes, json }: Answer): Promise<[told: number, real: number]> {
  if (status !== 200) throw new Error(JSON.stringify(json));
  const { depth } = await sharp(bytes).metadata();
  return [Number(headers.get('x-service-bit-depth')), BITS[depth] ?? 0];
}

/** 16 bits of each format that has them, with colours or grey, clear or not. */
async function deepFiles(): Promise<[name: string, type: string, file: Uint8Array][]> {
  const values = Uint16Array.from({ length: 120 * 90 * 4 }, (_, at) => 7_000 + ((at * 977) % 50_000));
  const opened = sharp(values, { raw: { width: 120, height: 90, channels: 4 } });
  const veiled = opened.clone().toColourspace('rgb16');
  const solid = opened.clone().removeAlpha().toColourspace('rgb16');
  return [
    ['a veiled PNG', 'image/png', await veiled.png().toBuffer()],
    ['a solid PNG', 'image/png', await solid.clone().png().toBuffer()],
    ['a grey PNG', 'image/png', await opened.clone().removeAlpha().toColourspace('grey16').png().toBuffer()],
    ['a TIFF', 'image/tiff', await solid.clone().tiff({ compression: 'lzw' }).toBuffer()],
  ];
}

/** Ops that a format has to be asked of. */
const NEEDING = ['compress', 'convert'];
/** Each op by its example, in the format that came in: so the result has 16 bits where the op keeps them. */
const ALL: readonly Op[] = Object.values(OPS);
const CALLS: readonly { name: string; query: Query }[] = ALL.filter((op) => op.runs === 'pass')
  .filter(({ syncEndpoint }) => syncEndpoint === '/images/transform')
  .map(({ op, example: { parameters } }) => {
    const { format: _, ...others } = parameters;
    return { name: op, query: { op, ...(NEEDING.includes(op) ? parameters : others) } };
  });
/** What keeps them whatever is asked beside. */
const KEEPING = ['resize', 'flip', 'thumbnail', 'extract_frame'];

t.test('X-Service-Bit-Depth says what the file has, for every op', async (t) => {
  for (const [name, type, file] of await deepFiles()) {
    for (const { name: op, query } of CALLS) {
      const [told, real] = await bitsOf(await calls.transform(query, file, type));
      t.equal(told, real, `${op} of ${name}: ${real}`);
      if (KEEPING.includes(op)) t.equal(real, 16, `${op} of ${name}`);
    }
  }
});

t.test('and for every format and setting that leaves no room for them', async (t) => {
  const [, solid, , tiff] = await deepFiles();
  const asked: Query[] = [
    ...['jpeg', 'webp', 'avif', 'gif', 'png', 'tiff'].map((format) => ({ format })),
    ...['keep', 'strip', 'copyright'].map((metadata) => ({ format: 'png', metadata })),
    { format: 'png', palette: true },
    { format: 'png', colors: 16 },
    { format: 'tiff', quality: 80 },
    { format: 'webp', lossless: true },
  ];
  for (const [name = '', type, file = new Uint8Array()] of [solid ?? [], tiff ?? []]) {
    for (const query of asked) {
      const [told, real] = await bitsOf(await calls.transform({ op: 'convert', ...query }, file, type));
      t.equal(told, real, `${JSON.stringify(query)} of ${name}: ${real}`);
    }
  }
});

t.test('and for presets of several steps', async (t) => {
  const chains: [bits: number, steps: [op: string, parameters: Query][]][] = [
    [
      16,
      [
        ['crop', { x: 5, y: 5, width: 90, height: 60 }],
        ['resize', { width: 45 }],
        ['crop', { x: 2, y: 2, width: 30, height: 20 }],
      ],
    ],
    [
      16,
      [
        ['rotate', { angle: 90 }],
        ['resize', { width: 200, enlarge: true }],
        ['flip', { axis: 'horizontal' }],
      ],
    ],
    [
      8,
      [
        ['resize', { width: 60 }],
        ['negate', {}],
        ['resize', { width: 30 }],
      ],
    ],
    [
      8,
      [
        ['resize', { width: 60, linear: true }],
        ['text', { text: 'Hi', size: 12 }],
      ],
    ],
  ];
  for (const [at, [bits, steps]] of chains.entries()) {
    const named = steps.map(([op, parameters]) => ({ op, parameters }));
    const json = { name: `Deep ${at}`, slug: `deep-${at}`, steps: named };
    const saved = await calls.server.call('/presets', { key: calls.key, json });
    t.equal(saved.status, 201, JSON.stringify(saved.json));
    for (const [name, type, file] of await deepFiles()) {
      const answer = await calls.transform({ preset: `deep-${at}` }, file, type);
      t.same(await bitsOf(answer), [bits, bits], `${steps.map(([op]) => op)} of ${name}`);
    }
  }
});

t.test('a picture of 8 bits is told nothing, and one of more than 8 what became of them', async (t) => {
  const plain = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  t.equal((await calls.transform({ op: 'flip' }, plain)).headers.get('x-service-bit-depth'), null);
  const float = await sharp(plain).toColourspace('scrgb').tiff({ compression: 'none' }).toBuffer();
  const { depth } = await sharp(float).metadata();
  const [told, real] = await bitsOf(await calls.transform({ op: 'flip' }, float, 'image/tiff'));
  t.same([depth, told, real], ['float', 8, 8]);
});
