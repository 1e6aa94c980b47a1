const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
/** Milliseconds by the units of Go's durations. */
const UNITS: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1e3,
  m: 60e3,
  h: 3600e3,
};

/**
 * The time of a line, as in `2026-01-31T23:59:59.5Z`, or as in the common log format: `31/Jan/2026:23:59:59 +0000`.
 * Null for a line without one. A time without a zone is read as UTC.
 */
export function momentIn(line: string): number | null {
  const [iso] = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?/.exec(line) ?? [];
  if (iso !== undefined)
    return Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(iso) ? iso : `${iso}Z`.replace(' ', 'T'));
  const [, day, month = '', year, time, zone] =
    /(\d\d)\/(\w{3})\/(\d{4}):(\d\d:\d\d:\d\d) ([+-]\d{4})/.exec(line) ?? [];
  if (day === undefined) return null;
  const monthNumber = String(MONTHS.indexOf(month) + 1).padStart(2, '0');
  const atMs = Date.parse(`${year}-${monthNumber}-${day}T${time}${zone?.replace(/(\d\d)$/, ':$1')}`);
  return Number.isNaN(atMs) ? null : atMs;
}

/** Milliseconds of `Completed in 1.25s`, as imgproxy ends a call; null for a line that does not tell. */
export function durationIn(line: string): number | null {
  const [, text] = /\bCompleted in ((?:\d+(?:\.\d+)? ?(?:ns|[uµμ]s|ms|s|m|h))+)/.exec(line) ?? [];
  if (text === undefined) return null;
  return [...text.matchAll(/([\d.]+) ?(\D+)/g)].reduce(
    (sum, [, number, unit = '']) => sum + Number(number) * (UNITS[unit.trim()] ?? 0),
    0,
  );
}
