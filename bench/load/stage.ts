import { monitorEventLoopDelay } from 'node:perf_hooks';
import { runClosed } from './closed.ts';
import { type OpenLoop, runOpen } from './open.ts';
import { seeded } from './random.ts';
import type { Call, LoadCase, Stage } from './suite.ts';
import { type CaseResult, type Outcome, rounded, Tally } from './tally.ts';

/** One second of a stage, all cases together. */
export interface Second {
  /** Seconds since the stage began. */
  at: number;
  perSecond: number;
  errors: number;
  p50: number;
  p99: number;
}

/** The load of the loading process itself. */
export interface LoaderLoad {
  /** Share of one core. */
  cpuShare: number;
  lagP99Ms: number;
  /** Reason why the figures are limited by the loader; null when they are the instance's. */
  limit: string | null;
}

export interface StageResult {
  name: string;
  loop: 'closed' | 'open';
  /** Duration; shorter than the suite says where the stage was stopped. */
  seconds: number;
  cases: Record<string, CaseResult>;
  /** Each case in equal slices of the stage, from which a confidence interval is computed. */
  slices: Record<string, CaseResult[]>;
  timeline: Second[];
  /** In an open loop with retries: the results of the calls that were refused and sent again. */
  retries: Record<string, OpenLoop>;
  loader: LoaderLoad;
}

/** A case that is ready to be sent. */
export interface PreparedCase {
  loadCase: LoadCase;
  next: (turn: number) => Call;
}

export interface StageOptions {
  url: string;
  key: string;
  stage: Stage;
  /** Calls per second by case, for an open stage. */
  rates: Record<string, number>;
  cases: Record<string, PreparedCase>;
  /** Ends the stage before its time. */
  signal: AbortSignal;
  onSecond: (second: Second) => void;
}

const SLICES = 10;
const SEED = 20_260_101;
/**
 * Largest share of a core at which the figures count. One thread does all of the loading: above this share its own
 * queue is part of the latencies.
 */
const BUSIEST_SHARE = 0.85;
const LONGEST_LAG_MS = 50;

/** Runs one stage in this process, and measures this process as well. */
export async function runStage(options: StageOptions): Promise<StageResult> {
  const { stage, onSecond } = options;
  const names = Object.keys(stage.loop === 'closed' ? stage.connections : stage.perSecond);
  const sliceMs = (stage.seconds * 1000) / SLICES;
  const whole = new Map(names.map((name) => [name, new Tally()]));
  const slices = new Map(names.map((name) => [name, Array.from({ length: SLICES }, () => new Tally())]));
  const timeline: Second[] = [];
  let second = new Tally();

  const startMs = performance.now();
  const cpuBefore = process.cpuUsage();
  const lag = monitorEventLoopDelay({ resolution: 5 });
  lag.enable();
  const ticking = setInterval(() => {
    timeline.push(told(second.result(1), timeline.length + 1));
    second = new Tally();
    onSecond(timeline.at(-1) as Second);
  }, 1000);

  function count(name: string, outcome: Outcome): void {
    whole.get(name)?.add(outcome);
    const slice = Math.min(SLICES - 1, Math.floor((performance.now() - startMs) / sliceMs));
    slices.get(name)?.[slice]?.add(outcome);
    second.add(outcome);
  }

  const loops = await Promise.all(names.map((name) => runLoop(name, options, (one) => count(name, one))));
  clearInterval(ticking);
  lag.disable();
  const elapsedSeconds = (performance.now() - startMs) / 1000;
  const seconds = options.signal.aborted ? rounded(Math.min(stage.seconds, elapsedSeconds)) : stage.seconds;
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    name: stage.name,
    loop: stage.loop,
    seconds,
    cases: mapped(whole, (tally) => tally.result(seconds)),
    slices: mapped(slices, (tallies) => tallies.map((tally) => tally.result(sliceMs / 1000))),
    timeline,
    retries: Object.fromEntries(
      loops.flatMap((loop, index) => (loop === null ? [] : [[names[index], loop]])),
    ),
    loader: loaderLoad((user + system) / 1e6 / elapsedSeconds, lag.percentile(99) / 1e6),
  };
}

async function runLoop(
  name: string,
  { url, key, stage, rates, cases, signal }: StageOptions,
  onOutcome: (outcome: Outcome) => void,
): Promise<OpenLoop | null> {
  const prepared = cases[name];
  if (prepared === undefined)
    throw new Error(`The stage ${stage.name} names the case ${name}, which is not there.`);
  const durationMs = stage.seconds * 1000;
  const loop = { url, key, ...prepared, durationMs, signal, onOutcome };
  if (stage.loop === 'closed') {
    await runClosed({ ...loop, connections: stage.connections[name] ?? 1 });
    return null;
  }
  const perSecond = rates[name] ?? 1;
  const retries = stage.retries === true;
  const answer = await runOpen({ ...loop, perSecond, retries, random: seeded(SEED) });
  return retries ? answer : null;
}

/** Reports whether the loader, and not the instance, was the limit. */
export function loaderLoad(cpuShare: number, lagP99Ms: number): LoaderLoad {
  const reasons = [
    cpuShare > BUSIEST_SHARE ? `it used ${Math.round(cpuShare * 100)} % of its core` : '',
    lagP99Ms > LONGEST_LAG_MS ? `its event loop was ${Math.round(lagP99Ms)} ms late (p99)` : '',
  ].filter((reason) => reason !== '');
  return {
    cpuShare: rounded(cpuShare),
    lagP99Ms: rounded(lagP99Ms),
    limit: reasons.length === 0 ? null : `The loader was the limit: ${reasons.join(', and ')}.`,
  };
}

function told({ perSecond, errors, latencyMs }: CaseResult, at: number): Second {
  const wrong = Object.values(errors).reduce((sum, count) => sum + count, 0);
  return { at, perSecond, errors: wrong, p50: latencyMs.p50, p99: latencyMs.p99 };
}

function mapped<A, B>(map: Map<string, A>, change: (value: A) => B): Record<string, B> {
  return Object.fromEntries([...map].map(([name, value]) => [name, change(value)]));
}
