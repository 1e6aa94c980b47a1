import type { LoadSuite, Stage } from './suite.ts';

/** Changes of the command line to all stages of a suite but its warm-up; null changes nothing. */
export interface Overrides {
  seconds: number | null;
  /** Calls per second of an open stage, of all its cases together; their shares stay. */
  rate: number | null;
  /** Connections of each case of a closed stage. */
  connections: number | null;
}

/** @throws Error if no stage has what is to be changed. */
export function overridden(suite: LoadSuite, { seconds, rate, connections }: Overrides): LoadSuite {
  const measured = suite.stages.filter(({ isWarmUp }) => !isWarmUp);
  if (rate !== null && !measured.some((stage) => sumOfRates(stage) > 0))
    throw new Error(`--rate changes open stages with rates of their own, and ${suite.name} has none.`);
  if (connections !== null && !measured.some(({ loop }) => loop === 'closed'))
    throw new Error(`--connections changes closed stages, and ${suite.name} has none.`);
  const changed = (stage: Stage): Stage => {
    if (stage.isWarmUp) return stage;
    const timed = { ...stage, seconds: seconds ?? stage.seconds };
    if (timed.loop === 'closed')
      return connections === null
        ? timed
        : { ...timed, connections: mapped(timed.connections, () => connections) };
    const sum = sumOfRates(timed);
    if (rate === null || sum === 0) return timed;
    const perSecond = mapped(timed.perSecond, (own) => (typeof own === 'number' ? (own * rate) / sum : own));
    return { ...timed, perSecond };
  };
  return { ...suite, stages: suite.stages.map(changed) };
}

/** Sum of the rates that the stage itself gives; others follow an earlier stage. */
function sumOfRates(stage: Stage): number {
  if (stage.loop === 'closed') return 0;
  return Object.values(stage.perSecond).reduce<number>(
    (sum, rate) => sum + (typeof rate === 'number' ? rate : 0),
    0,
  );
}

function mapped<A, B>(record: Record<string, A>, change: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}
