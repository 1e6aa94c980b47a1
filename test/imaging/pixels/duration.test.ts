// needs: nothing
import t from 'tap';
import { estimatedMs } from '../../../src/imaging/pixels/estimates/duration.ts';
import { type Header, readHeader } from '../../../src/imaging/pixels/header/header.ts';
import { createPace } from '../../../src/imaging/pixels/pools/pace.ts';
import type { Pass, Step } from '../../../workers/protocol.ts';
import { gifOf, jpegOf, pngOf } from './files.ts';

const LONG_MS = 2_000;
const headerOf = (file: Buffer) => readHeader(file) as Header;
const passOf = (encode: Pass['encode'], ...steps: [string, object?][]): Pass => ({
  decode: {},
  encode,
  steps: steps.map(([operation, params = {}]): Step => ({ operation, params: { ...params } })),
});

t.test('everyday passes are estimated to take a moment', async (t) => {
  const camera = headerOf(jpegOf(4_000, 3_000));
  const everyday: [Header, Pass][] = [
    [camera, passOf({ format: 'webp' }, ['resize', { width: 1_024 }])],
    [camera, passOf({ format: 'jpeg' }, ['rotate', { angle: 90 }])],
    [headerOf(jpegOf(8_000, 6_000)), passOf({ format: 'jpeg' }, ['resize', { width: 512 }])],
    [headerOf(jpegOf(1_280, 960)), passOf({ format: 'avif' })],
    [headerOf(gifOf(320, 200, 12)), passOf({}, ['resize', { width: 200 }])],
    [headerOf(pngOf(1_600, 1_200)), passOf({ format: 'webp' }, ['blur', { sigma: 8 }])],
  ];
  for (const [header, pass] of everyday)
    t.ok(estimatedMs(header, pass) < LONG_MS, `${estimatedMs(header, pass)} ms: ${JSON.stringify(pass)}`);
});

t.test('what was seen to take long is estimated to', async (t) => {
  const large = headerOf(jpegOf(7_000, 7_000));
  const small = headerOf(jpegOf(1_000, 1_000));
  const long: [Header, Pass][] = [
    [large, passOf({ format: 'avif', lossless: true })],
    [large, passOf({ format: 'avif', effort: 9, target: { minSsim: 1 } })],
    [large, passOf({ format: 'gif' })],
    [small, passOf({ format: 'png' }, ['clahe', { width: 1_024, height: 1_024 }])],
    [small, passOf({ format: 'png' }, ['dilate', { width: 64 }], ['dilate', { width: 64 }])],
    [
      headerOf(jpegOf(20, 20)),
      passOf({ format: 'avif' }, ['resize', { width: 4_000, height: 4_000, enlarge: true }]),
    ],
    [large, passOf({ format: 'jpeg' }, ['avif', { lossless: true }])],
  ];
  for (const [header, pass] of long)
    t.ok(estimatedMs(header, pass) > LONG_MS, `${estimatedMs(header, pass)} ms: ${JSON.stringify(pass)}`);
});

t.test('frames that are not read cost nothing', async (t) => {
  const moving = headerOf(gifOf(500, 400, 100));
  const still = estimatedMs(moving, passOf({ format: 'jpeg' }));
  t.ok(still < 200, `${still} ms for the first frame`);
  t.ok(estimatedMs(moving, passOf({ format: 'webp' })) > 10 * still);
});

t.test('an estimate follows what this host takes, quickly when it was too short', async (t) => {
  const pace = createPace();
  pace.record('gif', 100, 300);
  t.equal(pace.corrected('gif', 100), 200);
  t.equal(pace.corrected('jpeg', 100), 100, 'each kind by itself');
  for (let call = 0; call < 200; call += 1) pace.record('gif', 100, 100);
  t.ok(pace.corrected('gif', 100) < 101);
  for (let call = 0; call < 200; call += 1) pace.record('gif', 100, 1_000_000);
  t.ok(pace.corrected('gif', 100) <= 400, 'within bounds');
  pace.record('tiny', 0.1, 20);
  t.equal(pace.corrected('tiny', 1), 1, 'short passes say nothing');
});
