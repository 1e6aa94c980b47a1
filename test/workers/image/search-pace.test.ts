// needs: pixels
import sharp from 'sharp';
import t from 'tap';
import { effortsOf, searchSettingsOnSample } from '../../../workers/image/search/rehearsal.ts';
import { searchTarget } from '../../../workers/image/search/target.ts';
import { clockAt, DEADLINE_MS, searchOf } from './search-clock.ts';

t.test('the estimates of a sample do not depend on the pace', async (t) => {
  const triedAt = async (costMs: number) => {
    let now = 0;
    const tried: number[] = [];
    const { expected } = await searchSettingsOnSample({
      criteria: { count: 80, pick: 'last', target: 40, tolerance: 0.01, expected: (index) => index },
      efforts: effortsOf(undefined, { format: 'webp', effort: 5 }),
      clock: clockAt(() => now),
      deadlineMs: DEADLINE_MS,
      async attempt(index) {
        now += costMs / 50;
        tried.push(index);
        const value = index ** 1.1 + 0.5;
        return { value, reaches: value <= 40, bytes: index, wholeCpuMs: costMs };
      },
    });
    return { tried, expected: expected(30) };
  };
  const unhurried = await triedAt(1);
  t.ok(unhurried.tried.length > 2, `${unhurried.tried}`);
  t.same(await triedAt(5_000), unhurried, 'with time for one trial of the whole picture');
});

t.test('a search that is not told to be cut short finds the same file at any pace', async (t) => {
  let wasHurried = 0;
  for (const maxBytes of [1_200, 1_500, 2_000, 2_500, 3_000, 3_500]) {
    const unhurried = await searchTarget(searchOf(maxBytes, () => 1));
    t.same(unhurried.warnings, []);
    for (const trialMs of [2_000, 3_000, 3_500, 4_500, 5_000]) {
      const found = await searchTarget(searchOf(maxBytes, () => trialMs)).catch(() => undefined);
      if (found === undefined || found.warnings.length > 0) wasHurried += 1;
      else t.same(found.written.data, unhurried.written.data, `${maxBytes} bytes, ${trialMs} ms`);
    }
  }
  t.ok(wasHurried > 0, `${wasHurried} searches were cut short`);
});

t.test('a lower effort for lack of time is told, even of the only setting', async (t) => {
  const side = 1_000;
  const data = Uint8Array.from({ length: side * side * 3 }, (_, at) => (at * 7919 + ((at * at) >> 5)) & 255);
  const raw = { width: side, height: side, channels: 3 } as const;
  const isCutShortAfter = async (firstSampleMs: number) => {
    let now = 0;
    let samples = 0;
    const { warnings } = await searchTarget({
      ...searchOf(0, () => 1),
      pixels: { data, ...raw, frames: 1 },
      encode: { format: 'jpeg', quality: 1, target: { maxBytes: 1_000_000 } },
      clock: clockAt(() => now),
      prepare: async () => sharp(data, { raw }),
      prepareSample({ data, width, height, channels }) {
        samples += 1;
        now += samples === 1 ? firstSampleMs : 10;
        return sharp(data, { raw: { width, height, channels } });
      },
    });
    return warnings.some(({ code }) => code === 'search_cut_short');
  };
  t.equal(await isCutShortAfter(10), false);
  t.equal(await isCutShortAfter(2_500), true);
});
