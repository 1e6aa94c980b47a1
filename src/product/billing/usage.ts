import type { Usage, UsageBucket, UsageTotal } from './schema.ts';
import type { UsageWindow } from './usage-window.ts';

/** The sums of one kind of work, by the keys of a window, in any order. Missing sums are 0. */
export type UsageSource = (
  accountId: string,
  window: UsageWindow,
) => Promise<ReadonlyArray<{ key: string } & Partial<UsageTotal>>>;

/** The group of calls from a console session, which has no API key. */
export const CONSOLE_KEY = 'console';

/** Adds up all sources over a window. */
export async function readUsage(
  sources: readonly UsageSource[],
  accountId: string,
  window: UsageWindow,
): Promise<Omit<Usage, 'asOf'>> {
  const shares = (await Promise.all(sources.map((source) => source(accountId, window)))).flat();
  const groups = new Map<string, UsageBucket>();
  const total = nothing();
  for (const { key, ...share } of shares) {
    const bucket = groups.get(key) ?? { key, ...nothing() };
    groups.set(key, bucket);
    add(bucket, share);
    add(total, share);
  }
  return {
    from: window.from.toISOString(),
    to: window.to.toISOString(),
    groupBy: window.groupBy,
    groups: [...groups.values()].sort((one, other) => (one.key < other.key ? -1 : 1)),
    total,
  };
}

function nothing(): UsageTotal {
  return { jobs: 0, credits: 0, items: 0, sync: 0 };
}

function add(sum: UsageTotal, { jobs = 0, credits = 0, items = 0, sync = 0 }: Partial<UsageTotal>): void {
  sum.jobs += jobs;
  sum.credits += credits;
  sum.items += items;
  sum.sync += sync;
}
