import type { OperatorHistory, OperatorHost } from '../operator-schema.ts';

/** The number of samples that the service keeps: one hour of them. */
const MAX_KEPT_SAMPLES = 360;
const MAX_KEPT_MARKS = 200;

/** Appends the latest samples of a host to the known ones. Samples older than an hour are dropped. */
export function joinHistories(known: OperatorHistory | undefined, latest: OperatorHistory): OperatorHistory {
  const last = known?.at.at(-1) ?? 0;
  const fresh = latest.at.map((at) => at > last);
  const isFresh = (_: unknown, index: number) => fresh[index] === true;
  const before = known?.at.length ?? 0;
  const names = new Set([...Object.keys(known?.series ?? {}), ...Object.keys(latest.series)]);
  const joinedSeries = (name: string): (number | null)[] => {
    const old = known?.series[name] ?? Array.from({ length: before }, () => 0);
    const added = latest.series[name] ?? latest.at.map(() => 0);
    return [...old, ...added.filter(isFresh)].slice(-MAX_KEPT_SAMPLES);
  };
  const marks = new Map(
    [...(known?.marks ?? []), ...latest.marks].map((mark) => [`${mark.at}${mark.text}`, mark]),
  );
  return {
    at: [...(known?.at ?? []), ...latest.at.filter(isFresh)].slice(-MAX_KEPT_SAMPLES),
    series: Object.fromEntries([...names].map((name) => [name, joinedSeries(name)])),
    marks: [...marks.values()].slice(-MAX_KEPT_MARKS),
  };
}

/** The latest instant up to which the samples and marks of every host are known, in epoch milliseconds. */
export function knownUntilMs(hosts: readonly OperatorHost[]): number {
  const lastInstants = hosts.map(({ history }) =>
    Math.max(history.at.at(-1) ?? 0, history.marks.at(-1)?.at ?? 0),
  );
  return lastInstants.length === 0 ? 0 : Math.min(...lastInstants);
}
