import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CaseOptions, type CaseRecord, CaseRecorder } from './case-recorder.ts';
import { createSeededRandom, dueTimes, meanRate, runClosed, runOpen } from './loops.ts';
import { type CallEnd, type KeyedCall, Sender } from './sender.ts';
import type { LoadCase, Rate, Stage } from './suite.ts';
import { type CaseResult, type Figures, percentile, rounded, type Second } from './tally.ts';

/** The figures of the last second of a running stage, for all cases together. */
export interface StageProgress {
  /** Seconds since the stage began. */
  at: number;
  right: number;
  errors: number;
  /** Milliseconds; null without a right answer. */
  p50: number | null;
  p99: number | null;
}

/** The load of the loading process itself, up to the end of the stage. */
export interface LoaderLoad {
  /** Share of one core. */
  cpuShare: number;
  lagP99Ms: number;
  /** Share of the calls that were sent late. */
  lateShare: number;
  /** Reason why the figures are limited by the loader; null when they are the instance's. */
  limit: string | null;
}

export interface StageResult {
  name: string;
  loop: 'closed' | 'open';
  /** Duration without the drain; shorter than the suite asks for if the stage was stopped. */
  seconds: number;
  cases: Record<string, CaseResult>;
  /** Each case in equal slices of the stage, from which a confidence interval is computed. */
  slices: Record<string, Figures[]>;
  timeline: Record<string, Second[]>;
  loader: LoaderLoad;
  /** CPU time of all processes of the instance, including the drain, in ms; absent if they run elsewhere. */
  instanceCpuMs?: number;
}

/** A case that is ready to be sent. */
export interface PreparedCase {
  loadCase: LoadCase;
  next: (turn: number) => KeyedCall;
}

export interface StageOptions {
  url: string;
  stage: Stage;
  /** Rate by case, for an open stage. */
  rates: Record<string, Rate>;
  /** The number of the round. Each round sends different random arrivals. */
  round: number;
  cases: Record<string, PreparedCase>;
  /** Ends the stage before its time. */
  signal: AbortSignal;
  onProgress: (progress: StageProgress) => void;
  /** How long answers are awaited after the end of the stage; 30,000 ms by default. */
  drainMs?: number;
}

const DRAIN_MS = 30_000;
/** The time for late answers after a stage was stopped by hand, because somebody waits for the end. */
const STOPPED_DRAIN_MS = 2_000;
/**
 * The largest share of a core that the loader may use. One thread sends all calls, and above this share its own queue
 * is part of the latencies.
 */
const MAX_LOADER_CPU_SHARE = 0.85;
const MAX_LAG_MS = 50;
/** The share of late calls from which the p99 shows the loader instead of the service. */
const MIN_LATE_SHARE = 0.01;
/** In a stage of few calls, one or two late ones are no trend. */
const MIN_LATE_STARTS = 3;

/** Runs one stage in this process, and measures this process as well. */
export async function runStage(options: StageOptions): Promise<StageResult> {
  const { stage, signal, drainMs = DRAIN_MS } = options;
  const names = Object.keys(stage.loop === 'closed' ? stage.connections : stage.perSecond);
  const startMs = performance.now();
  const own = measureOwnLoad();
  const progress = showProgress(options.onProgress);
  const over = stageEndOf(stage, signal);
  const running: RunningCase[] = [];
  try {
    for (const name of names)
      running.push(runCase(name, { ...options, startMs, over: over.signal, onOutcome: progress.add }));
    const ended = Promise.all(running.map((one) => one.ended));
    await Promise.race([over.reached, ended.then(() => over.reached)]);
    const seconds = (performance.now() - startMs) / 1000;
    const use = own.stop();
    for (const { recorder } of running) recorder.close();
    await settleWithin(signal.aborted ? Math.min(STOPPED_DRAIN_MS, drainMs) : drainMs, ended);
    for (const { sender } of running) sender.abandon();
    await ended;

    const entries = running.map((one) => [one.name, one.recorder.record(seconds, one)] as const);
    const loader = loaderLoad({ ...use, lateShare: lateShareOf(entries.map(([, { result }]) => result)) });
    return {
      name: stage.name,
      loop: stage.loop,
      seconds: rounded(seconds, 3),
      ...columnsOf(entries),
      loader,
    };
  } finally {
    over.end();
    own.stop();
    progress.stop();
    for (const { sender } of running) sender.close();
  }
}

/** Waits for work, but at most for some time. */
async function settleWithin(timeMs: number, work: Promise<unknown>): Promise<void> {
  const done = new AbortController();
  await Promise.race([work, sleep(timeMs, undefined, { signal: done.signal }).catch(() => undefined)]);
  done.abort();
}

interface RunningCase extends CaseOptions {
  recorder: CaseRecorder;
  sender: Sender;
  /** Resolves when every call has ended; rejects if the suite could not build one. */
  ended: Promise<void>;
}

function runCase(
  name: string,
  context: StageOptions & { startMs: number; over: AbortSignal; onOutcome: (outcome: CallEnd) => void },
): RunningCase {
  const { url, stage, rates, round, cases, startMs, over, onOutcome } = context;
  const { loadCase, next } = requirePrepared(cases, name, stage);
  const durationMs = stage.seconds * 1000;
  const recorder = new CaseRecorder(startMs, durationMs);
  const sender = new Sender(url, loadCase);
  const isRetried = stage.loop === 'open' && stage.retries === true;

  const send = (turn: number, dueMs: number): Promise<void> => {
    const call = next(turn);
    recorder.sent(dueMs);
    return sender.send(call, dueMs, loadCase).then((outcome) => {
      recorder.ended(outcome);
      onOutcome(outcome);
      if (isRetried && outcome.end === 'wrong' && outcome.retryAfterMs !== null)
        return retry(call, outcome.retryAfterMs);
    });
  };
  /** Sends a refused call once more, unless the stage is over by then. */
  const retry = async (call: KeyedCall, retryAfterMs: number): Promise<void> => {
    await sleep(retryAfterMs, undefined, { signal: over }).catch(() => undefined);
    if (!over.aborted) recorder.retried(await sender.send(call, performance.now(), loadCase));
  };

  const one = { name, recorder, sender, isRetried, items: loadCase.items ?? 1 };
  if (stage.loop === 'closed') {
    const connections = stage.connections[name] ?? 1;
    return { ...one, askedPerSecond: null, ended: runClosed({ connections, send, over }) };
  }
  const rate = rates[name] ?? 1;
  const due = dueTimes(rate, { durationMs, random: createSeededRandom(name, stage.name, round) });
  const ended = runOpen({ due, startMs, durationMs, send, over, onUnsent: () => recorder.unsent() });
  return { ...one, askedPerSecond: meanRate(rate, stage.seconds), ended };
}

function requirePrepared(cases: Record<string, PreparedCase>, name: string, stage: Stage): PreparedCase {
  const prepared = cases[name];
  if (prepared === undefined)
    throw new Error(`The stage ${stage.name} names the case ${name}, which does not exist.`);
  return prepared;
}

/** A signal for the end of the stage, by its time or by hand. */
function stageEndOf(
  { seconds }: Stage,
  stopped: AbortSignal,
): { signal: AbortSignal; reached: Promise<void>; end: () => void } {
  const over = new AbortController();
  const reached = Promise.withResolvers<void>();
  const end = () => {
    clearTimeout(timer);
    stopped.removeEventListener('abort', end);
    over.abort();
    reached.resolve();
  };
  const timer = setTimeout(end, seconds * 1000);
  stopped.addEventListener('abort', end);
  if (stopped.aborted) end();
  return { signal: over.signal, reached: reached.promise, end };
}

function measureOwnLoad(): { stop(): { cpuShare: number; lagP99Ms: number } } {
  const startMs = performance.now();
  const before = process.cpuUsage();
  const lag = monitorEventLoopDelay({ resolution: 5 });
  lag.enable();
  return {
    stop() {
      lag.disable();
      const { user, system } = process.cpuUsage(before);
      return {
        cpuShare: (user + system) / 1000 / (performance.now() - startMs),
        lagP99Ms: lag.percentile(99) / 1e6,
      };
    },
  };
}

function showProgress(onProgress: (progress: StageProgress) => void) {
  let at = 0;
  let errors = 0;
  let latenciesMs: number[] = [];
  const timer = setInterval(() => {
    const sorted = latenciesMs.sort((a, b) => a - b);
    at += 1;
    onProgress({
      at,
      right: sorted.length,
      errors,
      p50: percentile(sorted, 0.5),
      p99: percentile(sorted, 0.99),
    });
    errors = 0;
    latenciesMs = [];
  }, 1000);
  return {
    add: ({ end, dueMs, endMs }: CallEnd) => {
      if (end === 'right') latenciesMs.push(endMs - dueMs);
      else errors += 1;
    },
    stop: () => clearInterval(timer),
  };
}

function lateShareOf(results: readonly CaseResult[]): number {
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const sent = sum(results.map((result) => result.sent));
  const late = sum(results.map((result) => result.sentLate));
  return late < MIN_LATE_STARTS ? 0 : late / Math.max(sent, late);
}

/** Reports whether the loader, and not the instance, was the limit. */
export function loaderLoad(use: { cpuShare: number; lagP99Ms: number; lateShare: number }): LoaderLoad {
  const { cpuShare, lagP99Ms, lateShare } = use;
  const reasons = [
    cpuShare > MAX_LOADER_CPU_SHARE ? `it used ${Math.round(cpuShare * 100)} % of its core` : '',
    lagP99Ms > MAX_LAG_MS ? `its event loop was ${Math.round(lagP99Ms)} ms late (p99)` : '',
    lateShare > MIN_LATE_SHARE ? `it sent ${rounded(lateShare * 100, 1)} % of the calls late` : '',
  ].filter((reason) => reason !== '');
  return {
    cpuShare: rounded(cpuShare),
    lagP99Ms: rounded(lagP99Ms),
    lateShare: rounded(lateShare, 4),
    limit: reasons.length === 0 ? null : `The loader was the limit: ${reasons.join(', and ')}.`,
  };
}

function columnsOf(
  entries: ReadonlyArray<readonly [string, CaseRecord]>,
): Pick<StageResult, 'cases' | 'slices' | 'timeline'> {
  const column = <V>(read: (entry: CaseRecord) => V) =>
    Object.fromEntries(entries.map(([name, entry]) => [name, read(entry)]));
  return {
    cases: column(({ result }) => result),
    slices: column(({ slices }) => slices),
    timeline: column(({ timeline }) => timeline),
  };
}
