import { withoutAbsentFields } from '../../platform/values/present.ts';
import { CONSOLE_USAGE_KEY, type UsageSource } from '../billing/usage.ts';
import type { ReadPresetUsage } from '../presets/responses.ts';
import type { JobReader } from './reading.ts';
import type { JobsStore } from './store.ts';

const FIELDS = { op: 'usageKey', key: 'apiKeyId', day: 'day' } as const;

/** The usage of jobs in a window. A job counts at the time of its submit. */
export function createJobUsageSource(reading: JobReader): UsageSource {
  return async (accountId, { from, to, groupBy }) => {
    const window = { from: from.toISOString(), to: to.toISOString() };
    const rows = await reading.sums(accountId, window, FIELDS[groupBy]);
    return rows.map(({ key, jobs: count, credits, items }) => ({
      key: String(key ?? CONSOLE_USAGE_KEY),
      jobs: Number(count),
      credits: Number(credits),
      items: Number(items),
    }));
  };
}

/** How often presets ran in jobs, and when they last did. */
export function createPresetUsageReader(jobs: JobsStore): ReadPresetUsage {
  return async (accountId, presetIds) => {
    const rows = await jobs.readRuns(accountId, presetIds);
    const usages = rows.map(async ({ presetId, runs }) => {
      const id = String(presetId);
      const lastRunAt = await jobs.findLastRun(accountId, id);
      return [id, { runs: Number(runs), ...withoutAbsentFields({ lastRunAt }) }] as const;
    });
    return new Map(await Promise.all(usages));
  };
}
