// needs: pixels
import sharp from 'sharp';
import t from 'tap';
import { OPS } from '../../../src/product/catalogue/index.ts';
import type { GivenParameters, Op } from '../../../src/product/catalogue/op.ts';
import { compileSteps } from '../../../src/product/catalogue/plan/compile.ts';
import { sentSteps } from '../../../src/product/catalogue/plan/step.ts';
import { onlyOfferedModels, readModels } from '../../../src/product/models/models.ts';
import { performTransformTask } from '../../../workers/image/pipeline.ts';

/** A gradient with a square in it: large enough for every example. */
async function photo(): Promise<Uint8Array<ArrayBuffer>> {
  const square = {
    input: { create: { width: 60, height: 60, channels: 3 as const, background: '#c03030' } },
  };
  const picture = sharp({ create: { width: 400, height: 300, channels: 3, background: '#4080c0' } });
  return (
    await picture
      .composite([{ ...square, left: 20, top: 10 }])
      .jpeg()
      .toUint8Array()
  ).data as Uint8Array<ArrayBuffer>;
}

const models = onlyOfferedModels(readModels(), (provider) => provider === 'sandbox');

async function run(op: string, parameters: GivenParameters) {
  const [segment] = compileSteps(sentSteps([{ op, parameters }]), models);
  if (segment?.runs !== 'pass') throw new Error(`${op} is no pass`);
  const { pass } = segment;
  return performTransformTask({
    kind: 'transform',
    input: await photo(),
    pass,
    deadlineMs: Date.now() + 60_000,
  });
}

/** The colour of one pixel of the result. */
async function pixel(name: string, given: GivenParameters, left: number, top: number): Promise<number[]> {
  const result = await run(name, { ...given, format: 'png' });
  if (result.kind === 'failure') throw new Error(result.message);
  const { data } = await sharp(result.data).extract({ left, top, width: 1, height: 1 }).raw().toUint8Array();
  return [...data];
}

const near = (actual: readonly number[], wanted: readonly number[]) =>
  actual.length === wanted.length &&
  actual.every((value, channel) => Math.abs(value - (wanted[channel] ?? 0)) <= 4);

t.test('every example of an op with a sync form makes a picture of an ordinary photo', async (t) => {
  for (const op of Object.values<Op>(OPS).filter((op) => op.runs === 'pass')) {
    if (op.syncEndpoint === undefined) continue;
    const result = await run(op.op, op.example.parameters);
    t.equal(result.kind, 'transformed', `${op.op} ${result.kind === 'failure' ? result.message : ''}`);
  }
});

t.test('the words of the catalogue mean what they say', async (t) => {
  const red = [0xc0, 0x30, 0x30];
  const blue = [0x40, 0x80, 0xc0];
  const table: [string, GivenParameters, [number, number], number[]][] = [
    ['flip', { axis: 'horizontal' }, [400 - 50, 40], red],
    ['flip', { axis: 'vertical' }, [50, 300 - 40], red],
    ['flip', { axis: 'both' }, [400 - 50, 300 - 40], red],
    ['rotate', { angle: 90 }, [300 - 40, 50], red],
    ['crop', { x: 15, y: 5, width: 60, height: 60 }, [30, 30], red],
    ['crop', { aspect: '1:1', focalX: 0 }, [50, 40], red],
    ['border', { width: 7, color: '#102030' }, [3, 3], [0x10, 0x20, 0x30]],
    ['pad', { left: 9, background: '#ffff00' }, [4, 4], [255, 255, 0]],
    ['adjust', { contrast: 2 }, [200, 200], [0, 128, 255]],
    ['negate', {}, [200, 200], blue.map((value) => 255 - value)],
    [
      'redact',
      { regions: [{ x: 20, y: 10, width: 60, height: 60 }], color: 'white' },
      [50, 40],
      [255, 255, 255],
    ],
    ['threshold', { value: 255 }, [200, 200], [0, 0, 0]],
  ];
  for (const [name, given, [left, top], colour] of table) {
    const actual = await pixel(name, given, left, top);
    t.ok(near(actual, colour), `${name} ${JSON.stringify(given)}: ${actual}, not ${colour}`);
  }
});

t.test('sizes are those asked for', async (t) => {
  const table: [string, GivenParameters, [number, number]][] = [
    ['resize', { width: 200 }, [200, 150]],
    ['resize', { width: 100, dpr: 2 }, [200, 150]],
    ['resize', { width: 800 }, [400, 300]],
    ['resize', { width: 800, enlarge: true }, [800, 600]],
    ['resize', { width: 90, height: 90, fit: 'cover' }, [90, 90]],
    ['thumbnail', { size: 64 }, [64, 64]],
    ['thumbnail', { size: 512 }, [512, 512]],
    ['crop', { aspect: '1:1' }, [300, 300]],
    ['pad', { all: 5 }, [410, 310]],
    ['border', { width: 10 }, [420, 320]],
    ['placeholder', { kind: 'color' }, [1, 1]],
  ];
  for (const [name, given, size] of table) {
    const result = await run(name, given);
    if (result.kind === 'failure') throw new Error(result.message);
    t.strictSame([result.width, result.height], size, `${name} ${JSON.stringify(given)}`);
  }
});
