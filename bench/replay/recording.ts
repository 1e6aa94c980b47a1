import { transformIn } from './addresses.ts';

/** One transform of a log. */
export interface RecordedCall {
  /** Milliseconds since the first call of the log. */
  atMs: number;
  /** Query of POST /images/transform. */
  query: string;
  /** Name of the picture; null where the log does not hold it. */
  source: string | null;
  /** Size of the picture; null where the log does not hold it. */
  bytes: number | null;
}

export interface Recording {
  calls: RecordedCall[];
  /** Number of lines that cannot be replayed. */
  skipped: number;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const SECOND_MS = 1000;

/**
 * Reads a log: lines of this service's own access log, or lines with a time and an address of imgproxy or thumbor,
 * such as those of these servers or of a proxy in the common log format.
 */
export function readRecording(text: string): Recording {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const calls = lines
    .flatMap((line) => ownCall(line) ?? addressCall(line) ?? [])
    .sort((a, b) => a.atMs - b.atMs);
  const startMs = calls[0]?.atMs ?? 0;
  const relative = calls.map((call) => ({ ...call, atMs: call.atMs - startMs }));
  return { calls: spread(relative), skipped: lines.length - calls.length };
}

/** A line of the access log of this service, whose transforms name their query (until 0.1.0 as `asked`). */
function ownCall(line: string): RecordedCall | null {
  const { route, time, asked, query = asked, requestBytes } = parsed(line);
  if (typeof route !== 'string' || !route.endsWith('/images/transform')) return null;
  if (typeof query !== 'string' || !query.includes('op=')) return null;
  const atMs = new Date(time as string | number).getTime();
  if (Number.isNaN(atMs)) return null;
  return { atMs, query, source: null, bytes: typeof requestBytes === 'number' ? requestBytes : null };
}

function addressCall(line: string): RecordedCall | null {
  const atMs = timeIn(line);
  if (atMs === null) return null;
  for (const [address] of line.matchAll(/(?<=^|[\s"=])\/[^\s"]+/g)) {
    const transform = transformIn(address);
    if (transform !== null) return { atMs, ...transform, bytes: null };
  }
  return null;
}

/** A time as in `2026-01-31T23:59:59.5Z`, or as in the common log format: `31/Jan/2026:23:59:59 +0000`. */
function timeIn(line: string): number | null {
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

/** Logs that count whole seconds have many calls at once; they are spread evenly over their second. */
function spread(calls: readonly RecordedCall[]): RecordedCall[] {
  if (calls.some(({ atMs }) => atMs % SECOND_MS !== 0)) return [...calls];
  const counts = new Map<number, number>();
  for (const { atMs } of calls) counts.set(atMs, (counts.get(atMs) ?? 0) + 1);
  const seen = new Map<number, number>();
  return calls.map((call) => {
    const turn = seen.get(call.atMs) ?? 0;
    seen.set(call.atMs, turn + 1);
    return { ...call, atMs: call.atMs + (turn * SECOND_MS) / (counts.get(call.atMs) ?? 1) };
  });
}

function parsed(line: string): Record<string, unknown> {
  if (!line.startsWith('{')) return {};
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return {};
  }
}
