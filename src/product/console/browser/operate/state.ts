/** The responses of `GET /operator/v1/state` and `/findings`: see src/host/operator/schema.ts. */
export interface Verdict {
  tone: 'good' | 'warn' | 'bad';
  sentence: string;
  mend?: { setting: string; value: number };
}

export interface PoolLoad {
  threads: number;
  busy: number;
  queued: number;
  waitMs?: number;
}

export interface Process {
  name: string;
  pid: number;
  state: 'serving' | 'starting' | 'silent';
  silentMs: number;
  uptimeSeconds: number;
  rssBytes?: number;
  logLevel?: string;
  clockDifferenceMs?: number;
  pools?: Readonly<Record<'image' | 'slow' | 'heavy' | 'batch' | 'render', PoolLoad>>;
}

export interface Mark {
  at: number;
  kind: 'set' | 'drain' | 'log' | 'reload' | 'restart';
  by: string;
  text: string;
}

export interface History {
  at: readonly number[];
  series: Readonly<Record<string, readonly (number | null)[]>>;
  marks: readonly Mark[];
}

export interface Host {
  hostId: string;
  cores: number;
  memoryLimitBytes: number;
  settings: Readonly<Record<string, number>>;
  restarts: Readonly<Record<string, number>>;
  cpuByRole: Readonly<Record<string, number>>;
  memoryByRole: Readonly<Record<string, number>>;
  countByRole: Readonly<Record<string, number>>;
  verdicts: readonly Verdict[];
  processes: readonly Process[];
  history: History;
}

export interface ShownState {
  at: string;
  verdict: Verdict;
  hosts: readonly Host[];
}

export interface Finding {
  part: string;
  state: 'ok' | 'warning' | 'problem';
  message: string;
  remedy: string | null;
  settings: readonly string[];
}

export interface FindingsReport {
  at: string;
  isWell: boolean;
  findings: readonly Finding[];
}

/** An hour, as the service keeps it. */
const MAX_SAMPLES = 360;
const MAX_MARKS = 200;

/** Joins the latest samples of a host with the known ones, up to an hour. */
export function joined(known: History | undefined, latest: History): History {
  const last = known?.at.at(-1) ?? 0;
  const fresh = latest.at.map((at) => at > last);
  const isFresh = (_: unknown, index: number) => fresh[index] === true;
  const before = known?.at.length ?? 0;
  const names = new Set([...Object.keys(known?.series ?? {}), ...Object.keys(latest.series)]);
  const column = (name: string): (number | null)[] => {
    const old = known?.series[name] ?? Array.from({ length: before }, () => 0);
    const added = latest.series[name] ?? latest.at.map(() => 0);
    return [...old, ...added.filter(isFresh)].slice(-MAX_SAMPLES);
  };
  const marks = new Map(
    [...(known?.marks ?? []), ...latest.marks].map((mark) => [`${mark.at}${mark.text}`, mark]),
  );
  return {
    at: [...(known?.at ?? []), ...latest.at.filter(isFresh)].slice(-MAX_SAMPLES),
    series: Object.fromEntries([...names].map((name) => [name, column(name)])),
    marks: [...marks.values()].slice(-MAX_MARKS),
  };
}

/** The instant up to which all hosts' samples are known, in epoch milliseconds. */
export function knownUntil(hosts: readonly Host[]): number {
  const lasts = hosts.map(({ history }) => Math.max(history.at.at(-1) ?? 0, history.marks.at(-1)?.at ?? 0));
  return lasts.length === 0 ? 0 : Math.min(...lasts);
}
