import {
  fromImgproxy,
  fromThumbor,
  type PresetOptions,
  type RequestedTransform,
  type UnusableAddress,
} from './addresses.ts';

/** One transform of a log. */
export interface RecordedCall {
  /** When the call arrived, in milliseconds since the first one did. */
  atMs: number;
  /** Query of POST /images/transform. */
  query: string;
  /** Name of the picture; null if the log does not contain it. */
  source: string | null;
  /** Size of the picture; null if the log does not hold it. */
  bytes: number | null;
}

interface Recording {
  calls: RecordedCall[];
  /** Calls and lines that are not replayed, by the reason. */
  leftOut: Map<string, number>;
  /** Calls that are replayed without something that they asked for, by its name. */
  without: Map<string, number>;
}

/** A call as its line tells it. */
interface LoggedCall {
  loggedMs: number;
  /** The time from the arrival of the call to its line. */
  tookMs: number;
  /** The kind of a line of imgproxy, which writes two for a call; null for a log with one line per call. */
  mark: 'started' | 'completed' | null;
  /** A text that is the same in both lines of a call. */
  request: string;
  transform: Transform | UnusableAddress;
}

type Transform = Omit<RecordedCall, 'atMs'> & Pick<RequestedTransform, 'without'>;

interface LeftOut {
  reason: string;
  count: number;
}

const SECOND_MS = 1000;
/** A smaller body in this service's log is not a picture, but JSON that names one. */
const MIN_BYTES = 256;

/**
 * Reads a log: lines of this service's own access log, or lines with a time and an address of imgproxy or thumbor, such
 * as those of these servers or of a proxy in the common log format. A call is due when it arrived, also if its line was
 * written with the answer.
 */
export function readRecording(text: string, presets: PresetOptions = {}): Recording {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const read = lines.map((line) => readOwnLine(line) ?? readAddressLine(line, presets));
  const { calls, secondLines } = dropSecondLines(read.filter((one) => 'transform' in one));
  const replayed = spreadWithinSecond(calls).flatMap(({ loggedMs, tookMs, transform }) =>
    'reason' in transform ? [] : [{ atMs: loggedMs - tookMs, ...transform }],
  );
  const startMs = replayed.reduce((least, { atMs }) => Math.min(least, atMs), Number.POSITIVE_INFINITY);
  const unusable = calls.flatMap(({ transform }) =>
    'reason' in transform ? [{ reason: transform.reason, count: 1 }] : [],
  );
  const second = { reason: 'second lines of a call', count: secondLines };
  return {
    calls: replayed
      .map(({ without: _, ...call }) => ({ ...call, atMs: call.atMs - startMs }))
      .sort((a, b) => a.atMs - b.atMs),
    leftOut: countReasons([...read.filter((one) => 'reason' in one), ...unusable, second]),
    without: countReasons(replayed.flatMap(({ without }) => without.map((reason) => ({ reason, count: 1 })))),
  };
}

/** Sentences about what a replay leaves out; empty if it leaves out nothing. */
export function leftOutOf({ leftOut, without }: Recording): string {
  const list = (counts: Map<string, number>) =>
    [...counts].map(([name, count]) => `${name} (${count})`).join(', ');
  return [
    leftOut.size === 0 ? '' : ` Left out: ${list(leftOut)}.`,
    without.size === 0 ? '' : ` Sent without: ${list(without)}.`,
  ].join('');
}

/** A line of this service's own log, whose transforms name their query (until 0.1.0 as `asked`); null for others. */
function readOwnLine(line: string): LoggedCall | LeftOut | null {
  const {
    route,
    time,
    msg,
    durationMs,
    asked,
    query = asked,
    requestBytes,
    refused,
    reason,
  } = parseJsonLine(line);
  if (msg === 'Calls were refused' && typeof refused === 'number')
    return { reason: `refused calls that the log only sums up: ${reason}`, count: refused };
  if (typeof route !== 'string') return null;
  if (!route.endsWith('/images/transform')) return { reason: `calls of ${route}`, count: 1 };
  if (typeof query !== 'string' || !query.includes('op='))
    return { reason: 'transforms whose steps stood in their body', count: 1 };
  const loggedMs = new Date(time as string | number).getTime();
  if (Number.isNaN(loggedMs)) return NO_TIME;
  const bytes = typeof requestBytes === 'number' && requestBytes >= MIN_BYTES ? requestBytes : null;
  const transform = { query, source: null, bytes, without: [] };
  const tookMs = typeof durationMs === 'number' ? durationMs : 0;
  return { loggedMs, tookMs, mark: null, request: '', transform };
}

const NO_TIME: LeftOut = { reason: 'calls without a time', count: 1 };
const NO_CALL: LeftOut = { reason: 'lines without a call', count: 1 };

function readAddressLine(line: string, presets: PresetOptions): LoggedCall | LeftOut {
  for (const [address] of line.matchAll(/(?<=^|[\s"=])\/[^\s"]+/g)) {
    const [path = ''] = address.split('?');
    const read = fromImgproxy(path, presets) ?? fromThumbor(path);
    if (read === null) continue;
    const loggedMs = parseMomentMs(line);
    if (loggedMs === null) return NO_TIME;
    const [, id = ''] = /request_id"?[=:]\s*"?([\w-]+)/.exec(line) ?? [];
    const tookMs = parseDurationMs(line);
    const mark = tookMs !== null ? 'completed' : /\bStarted\b/.test(line) ? 'started' : null;
    const transform = 'reason' in read ? read : { ...read, bytes: null };
    return { loggedMs, tookMs: tookMs ?? 0, mark, request: `${id} ${path}`, transform };
  }
  return NO_CALL;
}

/** The calls in the order of the log's times, and the number of dropped lines that repeat a call. */
function dropSecondLines(logged: readonly LoggedCall[]): { calls: LoggedCall[]; secondLines: number } {
  const started = new Map<string, number>();
  const order = (one: LoggedCall) => (one.mark === 'completed' ? 1 : 0);
  const sorted = logged.toSorted((a, b) => a.loggedMs - b.loggedMs || order(a) - order(b));
  const calls = sorted.filter(({ mark, request }) => {
    const open = started.get(request) ?? 0;
    if (mark === 'started') started.set(request, open + 1);
    if (mark !== 'completed' || open === 0) return true;
    started.set(request, open - 1);
    return false;
  });
  return { calls, secondLines: sorted.length - calls.length };
}

/** Spreads calls evenly over their second if the log has whole seconds only. */
function spreadWithinSecond(calls: readonly LoggedCall[]): LoggedCall[] {
  if (calls.some(({ loggedMs }) => loggedMs % SECOND_MS !== 0)) return [...calls];
  const counts = new Map<number, number>();
  for (const { loggedMs } of calls) counts.set(loggedMs, (counts.get(loggedMs) ?? 0) + 1);
  const seen = new Map<number, number>();
  return calls.map((call) => {
    const { loggedMs } = call;
    const turn = seen.get(loggedMs) ?? 0;
    seen.set(loggedMs, turn + 1);
    return { ...call, loggedMs: loggedMs + (turn * SECOND_MS) / (counts.get(loggedMs) ?? 1) };
  });
}

/** The number of entries by reason, the most frequent reason first. */
function countReasons(parts: readonly LeftOut[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { reason, count } of parts) if (count > 0) counts.set(reason, (counts.get(reason) ?? 0) + count);
  return new Map([...counts].sort(([, a], [, b]) => b - a));
}

function parseJsonLine(line: string): Record<string, unknown> {
  if (!line.startsWith('{')) return {};
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return {};
  }
}

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
function parseMomentMs(line: string): number | null {
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
export function parseDurationMs(line: string): number | null {
  const [, text] = /\bCompleted in ((?:\d+(?:\.\d+)? ?(?:ns|[uµμ]s|ms|s|m|h))+)/.exec(line) ?? [];
  if (text === undefined) return null;
  return [...text.matchAll(/([\d.]+) ?(\D+)/g)].reduce(
    (sum, [, number, unit = '']) => sum + Number(number) * (UNITS[unit.trim()] ?? 0),
    0,
  );
}
