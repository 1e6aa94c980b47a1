// needs: pixels
import sharp from 'sharp';
import t from 'tap';
import { defaultSearchEffort } from '../../../workers/image/encode/effort.ts';
import type { Pixels } from '../../../workers/image/pixels/pixels.ts';
import { DeadlineError } from '../../../workers/image/refusal.ts';
import { searchSettingsOnSample, takeTrialSample } from '../../../workers/image/search/rehearsal.ts';
import { searchTarget, type TargetSearch } from '../../../workers/image/search/target.ts';
import { TrialTime } from '../../../workers/image/search/time.ts';
import { tryNextSetting } from '../../../workers/image/search/trials.ts';
import type { OutputFormat } from '../../../workers/protocol.ts';

const DEADLINE_MS = 10_000;

/** A rehearsal whose trials take as long as the effort asks for, times how busy the host is. */
async function rehearsed(slowness: number) {
  let now = 0;
  const costMs = (effort: number | undefined) => slowness * ((effort ?? 9) + 1);
  const result = await searchSettingsOnSample({
    format: 'webp',
    usualEffort: undefined,
    row: { count: 80, pick: 'last', target: 40.2, tolerance: 0.1, expected: (index) => index },
    ratio: 50,
    nowMs: () => now,
    leftMs: () => DEADLINE_MS - 2_000 - now,
    async attempt(index, effort) {
      now += costMs(effort);
      return { value: index + 2, reaches: index + 2 <= 40.2 };
    },
  });
  return { ...result, tookMs: now };
}

t.test('the effort of a search is what a trial of it would take now', async (t) => {
  const idle = await rehearsed(1);
  t.match(idle, { effort: undefined, isRushed: false });
  const busy = await rehearsed(15);
  t.match(busy, { effort: 3, isRushed: false });
  const busier = await rehearsed(60);
  t.match(busier, { effort: 0, isRushed: false });
  const rushed = await rehearsed(120);
  t.match(rushed, { effort: 0, isRushed: true });
  await t.rejects(rehearsed(400), DeadlineError, 'what cannot end in twice the time is not begun');
  t.equal(idle.expected(38), 40, 'what was found moves what is expected');
});

t.test('a sample has pixels from all over the picture, none of them twice', async (t) => {
  const [width, height] = [1_200, 1_000];
  const data = new Uint8Array(width * height * 3);
  for (let at = 0; at < width * height; at++) {
    const [x, y] = [at % width, Math.floor(at / width)];
    data.set([Math.floor(x / 8), Math.floor(y / 8), ((x % 8) << 4) | (y % 8)], at * 3);
  }
  const whole: Pixels = { data, width, height, channels: 3, frames: 1 };
  const sample = takeTrialSample(whole, 'size')?.pixels;
  t.match(sample, { width: 512, height: 512, channels: 3, frames: 1 });
  const seen = new Set<string>();
  for (let at = 0; at < 512 * 512; at++) seen.add(String(sample?.data.subarray(at * 3, at * 3 + 3)));
  t.equal(seen.size, 512 * 512);
  t.ok(
    seen.has('0,0,0') && seen.has(`${(width - 1) >> 3},${(height - 1) >> 3},${(7 << 4) | 7}`),
    'its corners',
  );
  t.equal(takeTrialSample({ ...whole, frames: 2, height: 500 }, 'size'), undefined);
  const frames = takeTrialSample({ ...whole, frames: 20, height: 50 }, 'size')?.pixels;
  t.match(frames, { width, height: 50, frames: 3 });
  const start = 7 * 50 * width * 3;
  t.strictSame(frames?.data.subarray(50 * width * 3, 50 * width * 3 + 99), data.subarray(start, start + 99));
  const low = { ...whole, height: 400, data: data.subarray(0, width * 400 * 3) };
  t.equal(takeTrialSample(low, 'size'), undefined);
});

t.test('a size is estimated by runs of frames, a likeness by frames that lie apart', async (t) => {
  const [width, height, frames] = [250, 100, 100];
  const numbers = (part: Pixels | undefined) =>
    Array.from({ length: part?.frames ?? 0 }, (_, frame) => part?.data[frame * width * height]);
  const data = Uint8Array.from({ length: width * height * frames }, (_, at) =>
    Math.floor(at / (width * height)),
  );
  const animation: Pixels = { data, width, height, channels: 1, frames };
  const ofSize = takeTrialSample(animation, 'size');
  t.same(numbers(ofSize?.pixels), [0, 1, 2, 3, 34, 35, 36, 37, 68, 69, 70, 71]);
  t.same(numbers(ofSize?.heads), [0, 34, 68]);
  const ofLikeness = takeTrialSample(animation, 'likeness');
  t.same(numbers(ofLikeness?.pixels), [0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96]);
  t.equal(ofLikeness?.heads, undefined);
});

t.test('a sample of large frames has few of them, and at least two a run', async (t) => {
  const sampledOf = (width: number, frames: number) => {
    const animation = { data: new Uint8Array(width * 500 * frames), width, height: 500, frames };
    const ofSize = takeTrialSample({ ...animation, channels: 1 }, 'size');
    const ofLikeness = takeTrialSample({ ...animation, channels: 1 }, 'likeness');
    return [ofSize?.pixels.frames, ofSize?.heads?.frames, ofLikeness?.pixels.frames];
  };
  t.same(sampledOf(300, 100), [9, 3, 10], 'a third of a run less than the 13 of small frames');
  t.same(sampledOf(1_000, 100), [6, 3, 6]);
  t.same(sampledOf(1_000, 16), [2, undefined, 2], 'of few frames an eighth');
});

t.test('a search through an animation begins with the effort that two trials have time for', async (t) => {
  const effortOf = (format: OutputFormat, megapixels: number, frames = 100) =>
    defaultSearchEffort(format, { frames, megapixels });
  t.same(
    [0.4, 1, 1.9, 3, 45].map((megapixels) => effortOf('gif', megapixels)),
    [undefined, 3, 3, 0, 0],
  );
  t.same(
    [1, 4, 7.9, 9, 45].map((megapixels) => effortOf('webp', megapixels)),
    [9, 3, 3, 0, 0],
  );
  t.same(
    [effortOf('webp', 1, 1), effortOf('webp', 9, 1), effortOf('gif', 9, 1)],
    [9, 7, undefined],
    'a still one',
  );
  const tried: (number | undefined)[] = [];
  await searchSettingsOnSample({
    ...{ format: 'webp', usualEffort: 3, ratio: 1, nowMs: () => 0, leftMs: () => -1 },
    row: { count: 3, pick: 'last', target: 1, tolerance: 0 },
    async attempt(index, effort) {
      tried.push(effort);
      return { value: index, reaches: index <= 1 };
    },
  });
  t.same(tried.slice(0, 2), [undefined, 0], 'an effort that is no lower is not tried in its place');
});

t.test('a setting that is sure to fail by its expectation is not tried', async (t) => {
  const tried = async (margin: number | undefined, target: number) => {
    const indices: number[] = [];
    await tryNextSetting({
      ...{ count: 9, pick: 'last', target, tolerance: 0.01, expected: (index) => index, hasTime: () => true },
      ...(margin !== undefined && { margin }),
      async attempt(index) {
        indices.push(index);
        return { value: index + 0.3, reaches: index + 0.3 <= target };
      },
    });
    return indices;
  };
  t.same(await tried(undefined, 4.5), [4, 5]);
  t.same(await tried(0.1, 4.5), [4]);
  t.same(await tried(1, 4.5), [4, 5], 'its expectation may be wrong by as much');
});

t.test(
  'with a file that keeps the promise a search ends 2 s before its deadline, without one it goes on',
  async (t) => {
    let now = 0;
    let isKept = false;
    const time = new TrialTime({ deadlineMs: DEADLINE_MS, nowMs: () => now }, () => isKept);
    now = 4_500;
    t.equal(time.hasTime(), true, 'nothing is kept: the next may end at 9 s');
    isKept = true;
    now = 6_500;
    t.equal(time.hasTime(), false, 'the next would end at 8.5 s');
    t.equal(time.timeoutMs(), 1_500);
    t.equal(time.timeoutMs(400), 1_100, 'its file has to be judged as well');
    t.throws(() => time.timeoutMs(1_500), DeadlineError);
    t.equal(
      await time.within(async () => {
        throw new DeadlineError();
      }),
      false,
    );
    await t.rejects(
      time.within(async () => {
        throw new Error('broken');
      }),
      { message: 'broken' },
    );
  },
);

/** A search over a small picture whose trials each take so long. */
function searchOf(
  maxBytes: number,
  trialMs: (trial: number) => number,
  format: OutputFormat = 'jpeg',
): TargetSearch {
  const side = 64;
  const data = Uint8Array.from({ length: side * side * 3 }, (_, at) => (at * 7919 + ((at * at) >> 5)) & 255);
  const pixels: Pixels = { data, width: side, height: side, channels: 3, frames: 1 };
  let now = 0;
  let trials = 0;
  const opened = () => sharp(data, { raw: { width: side, height: side, channels: 3 } });
  return {
    pixels,
    encode: { format, target: { maxBytes } },
    motion: {},
    original: undefined,
    deadlineMs: DEADLINE_MS,
    nowMs: () => now,
    async prepare(timeoutMs) {
      trials += 1;
      const tookMs = trialMs(trials);
      now += Math.min(tookMs, timeoutMs);
      if (tookMs > timeoutMs) throw new DeadlineError();
      return opened();
    },
    prepareSample: opened,
    finish: async (written) => written,
  };
}

t.test('a search answers the best that it has when a trial would not end in time', async (t) => {
  let wasHurried = 0;
  for (const maxBytes of [1_500, 3_000, 4_500, 6_000]) {
    const thorough = await searchTarget(searchOf(maxBytes, () => 1, 'png'));
    t.same(thorough.warnings, []);
    const unhurried = thorough.achieved;
    // The last trial of it does not end any more.
    const { achieved, warnings } = await searchTarget(
      searchOf(maxBytes, (trial) => (trial < unhurried.trials ? 100 : 60_000), 'png'),
    ).catch(({ failure }) => ({
      achieved: { bytes: failure?.details.reached as number, trials: 0 },
      warnings: [],
    }));
    if (achieved.trials === 0) continue;
    if (unhurried.trials > 1) t.same(warnings, [{ code: 'search_cut_short' }]);
    wasHurried += unhurried.trials > 1 ? 1 : 0;
    t.ok(achieved.bytes <= maxBytes, `${achieved.bytes} of ${maxBytes} bytes`);
  }
  t.ok(wasHurried > 0, `${wasHurried} searches lost a trial`);
});

t.test(
  'a search that reached nothing in time is late, and one that tried all says what it reached',
  async (t) => {
    const cut = await searchTarget(searchOf(150, (trial) => (trial === 1 ? 5_000 : 60_000))).catch(
      (late) => late,
    );
    t.ok(cut instanceof DeadlineError);
    const { reached, achieved } = cut.details;
    t.match(
      achieved,
      { format: 'jpeg', quality: Number, bytes: reached, trials: 1 },
      'the only file, with its settings',
    );
    const refusal = await searchTarget(searchOf(150, () => 1)).catch((error) => error.failure);
    t.match(refusal, {
      code: 'invalid_param',
      param: 'maxBytes',
      details: { achieved: { quality: 1, bytes: refusal.details.reached } },
    });
    t.match(refusal.message, /was reached has \d+ bytes/);
    await t.rejects(searchTarget(searchOf(150, () => 60_000)), { name: 'DeadlineError', details: undefined });
  },
);

t.test(
  'a search for a likeness that is cut short tells the nearest file, and so does one of few colours',
  async (t) => {
    const cutAfter = (trials: number) => (trial: number) => (trial <= trials ? 4_800 : 60_000);
    const likeness = searchOf(0, cutAfter(1), 'webp');
    const alike = { ...likeness, encode: { format: 'webp', target: { minSsim: 1 }, quality: 40 } as const };
    const late = await searchTarget(alike).catch((error) => error);
    t.match(late, {
      name: 'DeadlineError',
      details: { achieved: { format: 'webp', quality: Number, bytes: Number } },
    });
    t.equal(late.details.achieved.ssim, late.details.reached);
    const palette = await searchTarget(searchOf(150, cutAfter(1), 'png')).catch((error) => error);
    t.match(palette, { details: { achieved: { format: 'png', colors: 2, bytes: palette.details.reached } } });
  },
);
