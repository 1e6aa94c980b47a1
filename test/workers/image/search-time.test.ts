// needs: pixels
import sharp from 'sharp';
import t from 'tap';
import { defaultSearchEffort } from '../../../workers/image/encode/effort.ts';
import type { Pixels } from '../../../workers/image/pixels/pixels.ts';
import { DeadlineError } from '../../../workers/image/refusal.ts';
import { fittingShareOfFrames } from '../../../workers/image/search/fewer-frames.ts';
import { effortsOf, searchSettingsOnSample } from '../../../workers/image/search/rehearsal.ts';
import { outdoneRefusal } from '../../../workers/image/search/rivals.ts';
import { takeTrialSample } from '../../../workers/image/search/sample.ts';
import { searchTarget } from '../../../workers/image/search/target.ts';
import { searchSetting } from '../../../workers/image/search/trials.ts';
import type { OutputFormat, PassWarning } from '../../../workers/protocol.ts';
import { clockAt, DEADLINE_MS, searchOf } from './search-clock.ts';

/** A rehearsal whose trials are as much work as the effort asks for, on a host that gives a share of a core. */
async function rehearsed(slowness: number, pace = 1) {
  let now = 0;
  const costMs = (effort: number | undefined) => slowness * ((effort ?? 9) + 1);
  return searchSettingsOnSample({
    criteria: { count: 80, pick: 'last', target: 40.2, tolerance: 0.1, expected: (index) => index },
    efforts: effortsOf(undefined, { format: 'webp' }),
    clock: clockAt(() => now, pace),
    deadlineMs: DEADLINE_MS,
    async attempt(index, effort) {
      now += costMs(effort) / pace;
      return { value: index + 2, reaches: index + 2 <= 40.2, bytes: index, wholeCpuMs: 50 * costMs(effort) };
    },
  });
}

t.test('the effort of a search is what a trial of it would take now', async (t) => {
  const idle = await rehearsed(1);
  t.match(idle, { effort: undefined, trialCpuMs: 500 });
  t.match(await rehearsed(15), { effort: 3, trialCpuMs: 3_000 });
  t.match(await rehearsed(60), { effort: 0, trialCpuMs: 3_000 });
  t.match(await rehearsed(120), { effort: 0, trialCpuMs: 6_000 }, 'there is time for one trial');
  t.match(await rehearsed(1, 1 / 15), { effort: 3, trialCpuMs: 200 }, 'as much work, on a busy host');
  const { timeShare = 1 } = await rehearsed(400);
  t.ok(timeShare > 0 && timeShare < 0.2, `${timeShare} of what cannot end in time can`);
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
  const frames = takeTrialSample({ ...whole, frames: 20, height: 50 }, 'likeness')?.pixels;
  t.match(frames, { width, height: 50, frames: 3 });
  const start = 7 * 50 * width * 3;
  t.strictSame(frames?.data.subarray(50 * width * 3, 50 * width * 3 + 99), data.subarray(start, start + 99));
  const low = { ...whole, height: 400, data: data.subarray(0, width * 400 * 3) };
  t.equal(takeTrialSample(low, 'size'), undefined);
});

/** An animation of 100 frames that show their numbers. Frames that do not change show that of the one before. */
function numbered(changes: (frame: number) => boolean): Pixels {
  const [width, height, frames] = [250, 100, 100];
  const shown: number[] = [];
  for (let frame = 0; frame < frames; frame++)
    shown.push(frame === 0 || changes(frame) ? frame : (shown[frame - 1] as number));
  const data = new Uint8Array(width * height * frames);
  for (const [frame, number] of shown.entries()) data.fill(number, frame * width * height);
  return { data, width, height, channels: 1, frames };
}

function numbersIn(part: Pixels | undefined): (number | undefined)[] {
  const { data, width = 0, height = 0, frames = 0 } = part ?? {};
  return Array.from({ length: frames }, (_, frame) => data?.[frame * width * height]);
}

t.test('a size is estimated by pairs of frames, a likeness by frames that lie apart', async (t) => {
  const animation = numbered(() => true);
  const ofSize = takeTrialSample(animation, 'size');
  const pairs = numbersIn(ofSize?.pixels);
  t.same(pairs, [8, 9, 24, 25, 41, 42, 57, 58, 74, 75, 90, 91]);
  t.same(numbersIn(ofSize?.pairFirstFrames), [8, 24, 41, 57, 74, 90]);
  t.match(ofSize, { timeRatio: 99 / 6 });
  t.equal(ofSize?.bytesRatio.toFixed(1), (99 / 6).toFixed(1), 'each pair changes as much as any other');
  const ofLikeness = takeTrialSample(animation, 'likeness');
  t.same(numbersIn(ofLikeness?.pixels), [0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96]);
  t.equal(ofLikeness?.pairFirstFrames, undefined);
});

t.test('pairs are taken where the picture changes, and stand for the changes only', async (t) => {
  const slides = takeTrialSample(
    numbered((frame) => frame % 25 === 0),
    'size',
  );
  t.same(numbersIn(slides?.pixels), [0, 25, 25, 50, 50, 75]);
  t.ok(
    Math.abs((slides?.bytesRatio ?? 0) - 1) < 0.05,
    `${slides?.bytesRatio}: all changes are in the sample`,
  );
  t.equal(slides?.timeRatio, 33);
  const still = takeTrialSample(
    numbered(() => false),
    'size',
  );
  t.equal(still?.pairFirstFrames?.frames, 6, 'nothing changes');
});

t.test('a sample of large frames has few of them, and at least three pairs', async (t) => {
  const sampledOf = (width: number, frames: number) => {
    const animation = { data: new Uint8Array(width * 500 * frames), width, height: 500, frames };
    const ofSize = takeTrialSample({ ...animation, channels: 1 }, 'size');
    const ofLikeness = takeTrialSample({ ...animation, channels: 1 }, 'likeness');
    return [ofSize?.pixels.frames, ofSize?.pairFirstFrames?.frames, ofLikeness?.pixels.frames];
  };
  t.same(sampledOf(300, 100), [10, 5, 10], 'less than the 13 of small frames');
  t.same(sampledOf(1_000, 100), [6, 3, 6]);
  t.same(sampledOf(1_000, 16), [6, 3, 2], 'for a likeness an eighth of few frames');
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
    [3, 3, 3, 0, 0],
  );
  t.same(
    [effortOf('webp', 1, 1), effortOf('webp', 9, 1), effortOf('gif', 9, 1)],
    [9, 7, undefined],
    'a still one',
  );
  t.same(effortsOf(3, { format: 'webp' }), [undefined, 0], 'an effort that is no lower is left out');
  t.same(effortsOf(7, { format: 'webp', effort: 7 }), [undefined], 'an effort that the caller chose stays');
});

t.test('a setting that is sure to fail by its expectation is not tried', async (t) => {
  const tried = async (margin: number | undefined, target: number) => {
    const indices: number[] = [];
    await searchSetting({
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

t.test('a trial that takes too long is left behind, and the file that is ready is answered', async (t) => {
  let hasLeft = 0;
  const search = searchOf(6_000, () => 1, 'png');
  let trials = 0;
  const found = await searchTarget({
    ...search,
    deadlineMs: 2_010,
    leaveTrial: () => {
      hasLeft += 1;
    },
    prepare(pixels, timeoutMs) {
      trials += 1;
      const never = new Promise<never>(() => undefined);
      return trials === 1 ? search.prepare(pixels, timeoutMs) : never;
    },
  });
  t.ok(found.written.info.size <= 6_000);
  t.match(found, { warnings: [{ code: 'search_cut_short' }], achieved: { trials: 1 } });
  t.equal(hasLeft, 1);
});

t.test('the only trial that there is time for keeps a distance from the target', async (t) => {
  const triedWithin = async (most: number, above: number) => {
    const tried: number[] = [];
    const endedByItself = await searchSetting({
      ...{ count: 90, pick: 'last', target: 40, tolerance: 0.5, expected: (index) => index },
      hasTime: (more) => tried.length + more <= most,
      async attempt(index) {
        tried.push(index);
        return { value: index + above, reaches: index + above <= 40 };
      },
    });
    return { tried, endedByItself };
  };
  t.same(await triedWithin(1, 0), { tried: [36], endedByItself: false });
  t.same(await triedWithin(2, 0), { tried: [40], endedByItself: true });
  t.same(await triedWithin(2, 3), { tried: [40, 33], endedByItself: false }, 'after one that missed it');
  const near = { tried: [36], endedByItself: false };
  t.same(await triedWithin(1, 3.8), near, 'with more time, another setting would have been tried');
});

t.test('a search answers the best that it has when a trial would not end in time', async (t) => {
  let wasHurried = 0;
  for (const maxBytes of [1_500, 3_000, 4_500, 6_000]) {
    const thorough = await searchTarget(searchOf(maxBytes, () => 1, 'png'));
    const isCutShort = (found: PassWarning[]) => found.some(({ code }) => code === 'search_cut_short');
    t.notOk(isCutShort(thorough.warnings));
    const unhurried = thorough.achieved;
    // The last trial of it does not end any more.
    const { achieved, warnings } = await searchTarget(
      searchOf(maxBytes, (trial) => (trial < unhurried.trials ? 100 : 60_000), 'png'),
    ).catch(({ failure }) => ({
      achieved: { bytes: failure?.details.reached as number, trials: 0 },
      warnings: [],
    }));
    if (achieved.trials === 0) continue;
    if (unhurried.trials > 1) t.ok(isCutShort(warnings));
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
    const likeness = searchOf(0, cutAfter(1), 'png');
    const alike = { ...likeness, encode: { format: 'png', target: { minSsim: 1 } } as const };
    const late = await searchTarget(alike).catch((error) => error);
    t.match(late, {
      name: 'DeadlineError',
      details: { achieved: { format: 'png', colors: Number, bytes: Number } },
    });
    t.equal(late.details.achieved.ssim, late.details.reached);
    const palette = await searchTarget(searchOf(150, cutAfter(1), 'png')).catch((error) => error);
    const { details } = palette.failure;
    t.match(
      details,
      { achieved: { format: 'png', colors: 2, bytes: details.reached } },
      'no setting is smaller',
    );
  },
);

t.test('a search of a small picture waits for its turn after one trial, and may end there', async (t) => {
  const goOn = { deadlineMs: DEADLINE_MS, bytesToBeat: Number.POSITIVE_INFINITY };
  const searchWith = async (afterOne: () => Promise<typeof goOn>) => {
    let trials = 0;
    const estimates: number[] = [];
    const found = await searchTarget({
      ...searchOf(0, (trial) => {
        trials = trial;
        return 1;
      }),
      encode: { format: 'jpeg', target: { minSsim: 0.97 } },
      takeTurn: async (estimate) => {
        if (estimate !== undefined) estimates.push(estimate.bytes);
        return estimate === undefined ? goOn : afterOne();
      },
    }).catch((error) => error);
    return { found, trials, estimates };
  };
  const alone = await searchWith(async () => goOn);
  t.match(alone, { found: { achieved: { ssim: Number } }, estimates: [Number] });
  t.ok(alone.trials > 1);
  const stopped = await searchWith(() => Promise.reject(outdoneRefusal()));
  t.match(stopped, { found: { failure: { details: { reason: 'outdone' } } }, trials: 1 });
});

t.test(
  'the nearest file of a drawing in motion has all its edges where it is smaller than any lossy one',
  async (t) => {
    const [width, height, frames] = [32, 32, 6];
    const data = Uint8Array.from({ length: width * height * frames * 3 }, (_, at) =>
      (Math.floor(at / 3) * 7) % 3 === 0 ? 255 : 0,
    );
    const raw = { width, height: height * frames, channels: 3, pageHeight: height } as const;
    const search = searchOf(150, () => 1, 'webp');
    const refusal = await searchTarget({
      ...search,
      pixels: { data, width, height, channels: 3, frames },
      prepare: async () => sharp(data, { raw }),
    }).catch((error) => error.failure);
    const { reached, achieved } = refusal.details;
    t.match(achieved, { format: 'webp', bytes: reached, quality: undefined });
  },
);

t.test('the share of frames that fit is estimated from what there was time to measure', async (t) => {
  const [side, frames] = [32, 100];
  const size = side * side * 3;
  const data = Uint8Array.from({ length: size * frames }, (_, at) => (at * 7919 + ((at * at) >> 5)) & 255);
  const pixels: Pixels = { data, width: side, height: side, channels: 3, frames };
  const fileOf = ({ data, frames }: Pixels) =>
    sharp(data, { raw: { width: side, height: side * frames, channels: 3, pageHeight: side } });
  const encode = { format: 'webp', quality: 80 } as const;
  const few = await fileOf({ ...pixels, data: data.subarray(0, 4 * size), frames: 4 })
    .webp({ quality: 80 })
    .toBuffer();
  const shareWith = (trialMs: number, startMs = 0) => {
    let now = startMs;
    const prepareSample = (sample: Pixels) => {
      now += trialMs;
      return fileOf(sample);
    };
    const search = { ...searchOf(0, () => 1), pixels, encode, clock: clockAt(() => now), prepareSample };
    return fittingShareOfFrames(search, [{ quality: 80 }], few.byteLength, true);
  };
  const measured = await shareWith(1);
  const estimated = await shareWith(5_000);
  t.ok(measured !== undefined && measured <= 0.05, `${measured} of 100 frames`);
  t.ok(estimated !== undefined && estimated > 0.015 && estimated <= 0.04, `${estimated} after one trial`);
  t.equal(await shareWith(1, DEADLINE_MS), undefined, 'there was no time for any');
});
