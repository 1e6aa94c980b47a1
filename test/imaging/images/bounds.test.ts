// needs: pixels
import sharp from 'sharp';
import t from 'tap';
import { predictSuccess } from '../../../src/imaging/images/estimates/prediction.ts';
import { readImageHeader } from '../../../src/imaging/images/header/header.ts';
import type { StoredFile } from '../../../src/imaging/images/image-call.ts';
import { ApiError } from '../../../src/platform/http/errors/errors.ts';
import { performTransformTask } from '../../../workers/image/pipeline.ts';
import type { EncodeOptions, ImagePass, OperationStep } from '../../../workers/protocol.ts';
import { gifOf, jpegOf, pngOf, tiffOf, webpOf } from './files.ts';
import { openStandIns } from './stand-ins.ts';

const step = (operation: string, params: OperationStep['params'] = {}): OperationStep => ({
  operation,
  params,
});
const passOf = (steps: OperationStep[], encode: EncodeOptions = {}): ImagePass => ({
  decode: {},
  steps,
  encode,
});

/** Opaque, 40 × 30 as it is shown. */
const PNG = await sharp({ create: { width: 40, height: 30, channels: 3, background: 'teal' } })
  .png()
  .toBuffer();
const TURNED = await sharp({ create: { width: 30, height: 40, channels: 3, background: 'teal' } })
  .withMetadata({ orientation: 6 })
  .jpeg()
  .toBuffer();

/** A pass over 40 × 30 pixels, and the parameter at fault. */
const MISFITS: Array<[pass: ImagePass, param: string]> = [
  [passOf([step('extract', { left: 40, width: 1, height: 1 })]), 'steps[0].params.left'],
  [passOf([step('extract', { top: 30, width: 1, height: 1 })]), 'steps[0].params.top'],
  [passOf([step('extract', { left: 30, width: 11, height: 1 })]), 'steps[0].params.width'],
  [passOf([step('blur', { sigma: 2 }), step('extract', { width: 1, height: 31 })]), 'steps[1].params.height'],
  [
    passOf([step('rotate', { angle: 90 }), step('extract', { width: 31, height: 1 })]),
    'steps[1].params.width',
  ],
  [
    passOf([step('resize', { width: 20 }), step('extract', { left: 20, width: 1, height: 1 })]),
    'steps[1].params.left',
  ],
  [
    passOf([step('crop', { aspect: '1:1' }), step('extract', { left: 30, width: 1, height: 1 })]),
    'steps[1].params.left',
  ],
  [
    passOf([step('border', { width: 5 }), step('extract', { left: 50, width: 1, height: 1 })]),
    'steps[1].params.left',
  ],
  [passOf([step('redact', { regions: [{ x: 40, y: 0, width: 5, height: 5 }] })]), 'steps[0].params.regions'],
  [passOf([step('extractChannel', { channel: 'alpha' })]), 'steps[0].params.channel'],
  [
    passOf([step('blur', { sigma: 2 }), step('extractChannel', { channel: 'alpha' })]),
    'steps[1].params.channel',
  ],
  [passOf([step('removeAlpha'), step('extractChannel', { channel: 'alpha' })]), 'steps[1].params.channel'],
  [passOf([step('extend', { right: 16_384 })]), 'steps[0].params.right'],
  [passOf([step('resize', { width: 16_384, enlarge: true })]), 'steps[0].params.width'],
  [passOf([step('affine', { matrix: [500, 0, 0, 1] })]), 'steps[0].params.matrix'],
  [passOf([step('text', { text: 'x'.repeat(500), size: 1_000 })]), 'steps[0].params.size'],
  [passOf([step('extend', { right: 16_344 })], { format: 'webp' }), 'format'],
  [
    passOf([step('extract', { width: 5, height: 5 })], { format: 'webp', target: { ssimulacra2: 80 } }),
    'ssimulacra2',
  ],
  ...(['jpeg', 'webp', 'gif'] as const).map((format): [ImagePass, string] => [
    passOf([step('extend', { right: 1_960, bottom: 1_970 })], { format, target: { maxBytes: 1_200 } }),
    'maxBytes',
  ]),
];

/** The refusal before the pass takes a slot. */
function refusalBefore(file: Uint8Array, pass: ImagePass): ApiError {
  const header = readImageHeader(file);
  if (header === null) throw new Error('It is an image.');
  try {
    predictSuccess({ header, fileBytes: file.length }, pass);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error(`Nothing is refused: ${JSON.stringify(pass)}`);
}

function isWithin(file: Uint8Array, pass: ImagePass): boolean {
  const header = readImageHeader(file);
  if (header === null) throw new Error('It is an image.');
  predictSuccess({ header, fileBytes: file.length }, pass);
  return true;
}

t.test('what does not fit a picture is refused by its header, with the words of the worker', async (t) => {
  for (const [pass, param] of MISFITS) {
    for (const file of [PNG, TURNED]) {
      const input = new Uint8Array(file);
      const deadlineMs = Date.now() + 30_000;
      const { code, details, message, param: found } = refusalBefore(input, pass);
      t.same([code, found], ['invalid_param', param], JSON.stringify(pass));
      const failed = await performTransformTask({ kind: 'transform', input, pass, deadlineMs });
      t.match(failed, { kind: 'failure', code, param, message }, JSON.stringify(pass));
      if ('details' in failed) t.same(details, failed.details);
    }
  }
});

t.test('what can be met, or is known from the pixels alone, is not refused', async (t) => {
  const outside = step('extract', { left: 39, top: 29, width: 1, height: 1 });
  t.ok(isWithin(PNG, passOf([outside])), 'the last pixel is one');
  t.ok(isWithin(TURNED, passOf([outside])), 'as the picture is shown');
  t.ok(isWithin(PNG, passOf([step('trim'), step('extract', { left: 90, width: 1, height: 1 })])));
  t.ok(
    isWithin(
      PNG,
      passOf([step('affine', { matrix: [1, 0, 0, 1] }), step('extract', { left: 90, width: 1, height: 1 })]),
    ),
  );
  for (const adding of [
    step('ensureAlpha'),
    step('roundCorners', { radius: 5 }),
    step('rotate', { angle: 20 }),
    step('extend', { top: 2 }),
    step('resize', { width: 50, height: 50, fit: 'contain' }),
  ]) {
    const pass = passOf([adding, step('extractChannel', { channel: 'alpha' })]);
    t.ok(isWithin(PNG, pass), `${adding.operation} may make an alpha channel`);
  }
  t.ok(isWithin(gifOf(40, 30), passOf([step('extractChannel', { channel: 'alpha' })])), 'a GIF may have one');
  t.ok(
    isWithin(pngOf(20_000, 2_000), passOf([step('rotate', { angle: 90 })])),
    'a long picture may be turned',
  );
  t.ok(isWithin(pngOf(20_000, 2_000), passOf([step('extract', { width: 19_000, height: 9 })])), 'and cut');
});

t.test('the frames of an animation count together, but for steps that do one at a time', async (t) => {
  const moving = webpOf(1_000, 1_000, 50);
  const enlarged = passOf([step('resize', { width: 1_500, enlarge: true })], { format: 'webp' });
  t.equal(refusalBefore(moving, enlarged).param, 'steps[0].params.width');
  t.ok(isWithin(moving, passOf([step('border', { width: 250 })], { format: 'webp' })));
  t.ok(isWithin(moving, { ...enlarged, decode: { frame: 0 } }), 'one frame is small enough');
});

t.test('a page behind the first is judged by its worker, because it may have another size', async (t) => {
  const tiff = tiffOf({ width: 40, height: 30 }, { width: 90, height: 90 });
  const pass = passOf([step('extract', { left: 40, width: 1, height: 1 })]);
  t.equal(refusalBefore(tiff, pass).param, 'steps[0].params.left');
  t.ok(isWithin(tiff, { ...pass, decode: { frame: 1 } }));
});

t.test('a file that is small enough already is not refused, because it may be the result', async (t) => {
  const flat = { create: { width: 1_000, height: 1_000, channels: 3, background: 'teal' } } as const;
  const file = await sharp(flat).webp({ lossless: true }).toBuffer();
  const pass = passOf([], { target: { maxBytes: 150 } });
  t.ok(isWithin(file, pass), `${file.length} bytes`);
  t.match(
    await performTransformTask({
      kind: 'transform',
      input: new Uint8Array(file),
      pass,
      deadlineMs: Date.now() + 30_000,
    }),
    {
      kind: 'transformed',
    },
  );
  const larger = await sharp(flat).webp().toBuffer();
  t.match(refusalBefore(larger, pass), { param: 'maxBytes', details: { limit: 1_519 } });
});

t.test('no worker is asked for a pass that does not fit', async (t) => {
  const { workers, clock } = openStandIns(t);
  const deadlineMs = clock.nowMs() + 10_000;
  const outside = passOf([step('extract', { left: 40, width: 1, height: 1 })], { background: 'die' });
  const call = {
    bytes: new Uint8Array(PNG),
    accountId: 'acc',
    deadlineMs,
    paramOf: (param: string) => `x.${param}`,
  };
  await t.rejects(workers.transform({ ...call, pass: outside }).result, {
    code: 'invalid_param',
    param: 'x.steps[0].params.left',
  });
  const facts = { format: 'jpeg', mimeType: 'image/jpeg', width: 40, height: 30, orientation: 1, frames: 1 };
  const stored = {
    length: 9,
    facts: { ...facts, bitDepth: 8, hasAlpha: false, colorSpace: 'srgb' } as StoredFile['facts'],
    read: () => Promise.reject(new Error('A stored file is not read either.')),
  };
  await t.rejects(workers.transform({ ...call, bytes: stored, pass: outside }).result, {
    code: 'invalid_param',
  });
  const other = jpegOf(41, 30);
  await t.rejects(workers.compare({ ...call, bytes: new Uint8Array(jpegOf(40, 30)), other }).result, {
    code: 'invalid_param',
    message: /40 x 30 px and the other one 41 x 30 px/,
  });
  t.match(workers.stats().quick, { busy: 0, waiting: 0 });
});
