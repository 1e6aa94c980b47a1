// needs: nothing
import { pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';
import t from 'tap';
import {
  estimatedMemoryBytes,
  estimatedMs as estimatedMsOf,
} from '../../../src/imaging/images/estimates/costs.ts';
import type { ImageHeader } from '../../../src/imaging/images/header/facts.ts';
import { readImageHeader } from '../../../src/imaging/images/header/header.ts';
import { PassCpuMeter } from '../../../src/imaging/images/pools/threads.ts';
import { EstimateCorrection } from '../../../src/imaging/images/pools/work-history.ts';
import type { ImagePass, OperationStep } from '../../../workers/protocol.ts';
import { gifOf, jpegOf, pngOf } from './files.ts';

const LONG_MS = 2_000;
const estimatedMs = (header: ImageHeader, pass: ImagePass) => estimatedMsOf(header, [pass]);
const headerOf = (file: Buffer) => readImageHeader(file) as ImageHeader;
const passOf = (encode: ImagePass['encode'], ...steps: [string, object?][]): ImagePass => ({
  decode: {},
  encode,
  steps: steps.map(([operation, params = {}]): OperationStep => ({ operation, params: { ...params } })),
});

t.test('second pictures count in the estimates of time and of memory', (t) => {
  const logo = headerOf(pngOf(1_000, 1_000));
  const large = headerOf(pngOf(7_000, 7_000));
  const camera = headerOf(jpegOf(4_000, 3_000));
  const pass = passOf({ format: 'jpeg' }, ['composite', { layerAssetId: 'one' }]);
  const twice = { ...pass, steps: [...pass.steps, ...pass.steps] };
  const msOf = (layer: ImageHeader, of = pass) => estimatedMsOf(camera, [of], { one: { header: layer } });
  t.ok(msOf(large) > msOf(logo) + 1_000);
  t.ok(msOf(large, twice) > 2 * msOf(large) - msOf(logo), 'it is decoded for each step');
  const bytesOf = (layer: ImageHeader) => estimatedMemoryBytes(camera, [pass], { one: { header: layer } });
  t.equal(bytesOf(large) - bytesOf(logo), 4 * (49_000_000 - 1_000_000), 'one at a time, as RGBA');
  t.end();
});

t.test('everyday passes are estimated to take a moment', async (t) => {
  const camera = headerOf(jpegOf(4_000, 3_000));
  const everyday: [ImageHeader, ImagePass][] = [
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
  const long: [ImageHeader, ImagePass][] = [
    [large, passOf({ format: 'avif', lossless: true })],
    [large, passOf({ format: 'avif', effort: 9, target: { minSsim: 1 } })],
    [large, passOf({ format: 'gif' })],
    [small, passOf({ format: 'png' }, ['clahe', { width: 1_024, height: 1_024 }])],
    [small, passOf({ format: 'png' }, ['dilate', { width: 64 }], ['dilate', { width: 64 }])],
    [
      headerOf(jpegOf(20, 20)),
      passOf({ format: 'avif' }, ['resize', { width: 4_000, height: 4_000, enlarge: true }]),
    ],
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

t.test('a picture that shrinks costs what its result does, and its reading', async (t) => {
  const camera = headerOf(jpegOf(4_000, 3_000));
  const thumbnail = estimatedMs(camera, passOf({ format: 'webp' }, ['resize', { width: 512 }]));
  t.ok(thumbnail < 300, `${thumbnail} ms for a thumbnail, which takes 40 to 90`);
  const blurred = passOf({ format: 'webp' }, ['blur', {}], ['resize', { width: 512 }]);
  t.ok(estimatedMs(camera, blurred) > 1_000 + thumbnail, 'what is done before it counts whole');
});

t.test('an estimate follows what its kind takes on this host, quickly when it was too short', async (t) => {
  const pace = new EstimateCorrection();
  pace.record('gif', 100, 300);
  t.equal(pace.correctEstimate('gif', 100), 200);
  t.equal(pace.correctEstimate('jpeg', 100), 100, 'each kind by itself');
  for (let call = 0; call < 50; call += 1) pace.record('gif', 100, 100);
  t.ok(pace.correctEstimate('gif', 100) < 101);
  for (let call = 0; call < 200; call += 1) pace.record('gif', 100, 1_000_000);
  t.ok(pace.correctEstimate('gif', 100) <= 400, 'within bounds');
  pace.record('tiny', 0.1, 20);
  t.equal(pace.correctEstimate('tiny', 1), 1, 'short passes say nothing');
});

t.test('one slow outlier is made up for by a few quick passes', async (t) => {
  const pace = new EstimateCorrection();
  pace.record('webp', 1_000, 60_000);
  t.ok(pace.correctEstimate('webp', 1_000) > LONG_MS);
  for (let call = 0; call < 3; call += 1) pace.record('webp', 1_000, 500);
  t.ok(pace.correctEstimate('webp', 1_000) < LONG_MS);
});

t.test('kinds that callers make up do not fill the memory, and leave those in use', async (t) => {
  const pace = new EstimateCorrection();
  pace.record('first', 100, 400);
  for (let kind = 0; kind < 999; kind += 1) pace.record(`kind ${kind}`, 100, 400);
  pace.record('first', 100, 400);
  pace.record('another', 100, 400);
  t.ok(pace.correctEstimate('first', 100) > 100, 'it was recorded again');
  t.equal(pace.correctEstimate('kind 0', 100), 100, 'the oldest is forgotten');
});

t.test('the CPU time of a process is shared by the passes that run at the time', async (t) => {
  let usedMs = 5_000;
  const meter = new PassCpuMeter(() => usedMs);
  const alone = meter.startMeasuring();
  usedMs += 100;
  t.equal(alone.cpuMs(), 100, 'what was used before is not its own');
  alone.end();
  usedMs += 1_000;
  const first = meter.startMeasuring();
  usedMs += 30;
  const second = meter.startMeasuring();
  usedMs += 40;
  t.equal(first.cpuMs(), 30 + 20);
  first.end();
  usedMs += 7;
  t.equal(second.cpuMs(), 20 + 7);
});

t.test('the system tells the CPU time of other threads, without that of this one', async (t) => {
  const measured = new PassCpuMeter().startMeasuring();
  const before = process.threadCpuUsage();
  const hashed = await promisify(pbkdf2)('password', 'salt', 400_000, 64, 'sha512');
  const { user, system } = process.threadCpuUsage(before);
  const otherMs = measured.cpuMs();
  t.equal(hashed.length, 64);
  t.ok(otherMs > (user + system) / 1_000, `${otherMs} ms by the thread of libuv`);
});

t.test('frames that are left out are decoded and counted, and not written', async (t) => {
  const header = headerOf(gifOf(500, 400, 100));
  const msOf = (decode: ImagePass['decode']) =>
    estimatedMs(header, { ...passOf({ format: 'webp' }), decode });
  const bytesOf = (decode: ImagePass['decode']) =>
    estimatedMemoryBytes(header, [{ ...passOf({ format: 'webp' }), decode }]);
  const decodes: ImagePass['decode'][] = [{}, { everyNth: 2 }, { frames: '50..54' }, { frame: 0 }];
  const rising = decodes.map(msOf).reverse();
  t.strictSame(
    rising,
    rising.toSorted((one, other) => one - other),
  );
  t.ok(bytesOf({ everyNth: 2 }) > bytesOf({}), 'both a batch and the kept frames are in memory');
  t.equal(bytesOf({ frames: '50..54' }), bytesOf({}), 'a range is read as it is');
});
