import { CONSOLE_KEY, type UsageSource } from './usage.ts';
import type { UsageHour, UsageStore } from './usage-store.ts';
import { cutWindow, type UsageWindow } from './usage-window.ts';

const FIELD_OF_GROUPING = { op: 'op', key: 'apiKeyId', day: 'day' } as const;

/**
 * The counted synchronous calls of a window. Whole days are read from the counts of days, whole hours at its ends from
 * the counts of hours, and single minutes from the hours of its beginning and its end.
 */
export function syncUsage(usage: UsageStore): UsageSource {
  return async (accountId, window) => {
    const field = FIELD_OF_GROUPING[window.groupBy];
    const parts = cutWindow(window);
    const [byDay, byHour, cut] = await Promise.all([
      usage.callsOfDays(accountId, parts.days, field),
      Promise.all(parts.hours.map((range) => usage.callsOfHours(accountId, range, field))),
      usage.findHours(accountId, parts.cutHours),
    ]);
    const minutes = cut.map((hour) => ({ key: hour[field], sync: callsWithin(hour, window) }));
    return [...byDay, ...byHour.flat(), ...minutes]
      .map(({ key, sync }) => ({ key: key ?? CONSOLE_KEY, sync }))
      .filter(({ sync }) => sync > 0);
  };
}

/** The calls of those minutes of an hour that are within the window. */
function callsWithin({ hour, minutes }: UsageHour, { from, to }: UsageWindow): number {
  let calls = 0;
  for (const [name, count] of Object.entries(minutes)) {
    const minute = new Date(`${hour}:${name.slice(1)}:00Z`);
    if (minute >= from && minute < to) calls += count;
  }
  return calls;
}
