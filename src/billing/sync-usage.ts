import { CONSOLE_KEY, type UsageSource } from './usage.ts';
import type { UsageHour, UsageStore } from './usage-store.ts';
import { cutWindow, type UsageWindow } from './usage-window.ts';

const FIELDS = { op: 'op', key: 'apiKeyId', day: 'day' } as const;

/**
 * Synchronous calls that counted. Whole days of a window are read from the days, whole hours at its ends from the
 * hours, and single minutes from the one or two hours that it begins or ends in.
 */
export function syncUsage({ hours, days, runs }: UsageStore): UsageSource {
  return async (accountId, window) => {
    const field = FIELDS[window.groupBy];
    const sums = { sync: 'sync' } as const;
    const parts = cutWindow(window);
    const [byDay, byHour, cut, byRun] = await Promise.all([
      days.group({ filter: { accountId, day: rangeOf(parts.days) }, by: { key: field }, sums }),
      Promise.all(
        parts.hours.map((range) =>
          hours.group({ filter: { accountId, hour: rangeOf(range) }, by: { key: field }, sums }),
        ),
      ),
      hours.find({ accountId, hour: { $in: parts.cutHours } }),
      runs.group({
        filter: { accountId, at: { $gte: window.from.toISOString(), $lt: window.to.toISOString() } },
        by: { key: field },
        sums: { sync: 1 },
      }),
    ]);
    const minutes = cut.map((hour) => ({ key: hour[field], sync: callsWithin(hour, window) }));
    return [...byDay, ...byHour.flat(), ...minutes, ...byRun]
      .map(({ key, sync }) => ({ key: String(key ?? CONSOLE_KEY), sync: Number(sync) }))
      .filter(({ sync }) => sync > 0);
  };
}

function rangeOf({ from, to }: { from: string; to: string }) {
  return { $gte: from, $lt: to };
}

/** Calls of those minutes of an hour that lie within the window. */
function callsWithin({ hour, minutes }: UsageHour, { from, to }: UsageWindow): number {
  let calls = 0;
  for (const [name, count] of Object.entries(minutes)) {
    const minute = new Date(`${hour}:${name.slice(1)}:00Z`);
    if (minute >= from && minute < to) calls += count;
  }
  return calls;
}
