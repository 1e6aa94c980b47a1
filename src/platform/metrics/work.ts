import { Counter, Gauge, Histogram } from 'prom-client';
import type { SpanPart, Tracing } from '../tracing/tracing.ts';

const RUN_PARTS = ['admit', 'fetch', 'queue', 'decode', 'process', 'encode'] as const;

/**
 * The time of each part of a run, in milliseconds: `admitMs` from the request to its admission, `fetchMs` for reading
 * the body or fetching the image, and so on. A part that does not apply is absent.
 */
type RunTimings = { [P in (typeof RUN_PARTS)[number] as `${P}Ms`]?: number };

/** One run of an op that succeeded. */
interface OpRun extends RunTimings {
  /** A name of the catalogue, or `preset`. */
  op: string;
  work: 'call' | 'job';
  bytesIn: number;
  bytesOut: number;
}

const RUN_BUCKETS_SECONDS = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60];

export class OpMeter {
  readonly #tracing: Tracing;
  readonly #durations = new Histogram({
    name: 'darkroom_op_duration_seconds',
    help: 'Time of a successful run in the pool, without its wait, by op and class (call or job).',
    labelNames: ['op', 'work'],
    buckets: RUN_BUCKETS_SECONDS,
  });
  readonly #parts = new Counter({
    name: 'darkroom_op_part_seconds_total',
    help: 'Time of successful runs by op, class (call or job) and part: admit (gate and credential), fetch (reading the body or fetching the url), queue, decode, process, encode. libvips is lazy: a part of decode and encode is in process.',
    labelNames: ['op', 'work', 'part'],
  });
  readonly #bytes = new Counter({
    name: 'darkroom_op_bytes_total',
    help: 'Bytes that successful runs read (in) and made (out), by op.',
    labelNames: ['op', 'direction'],
  });

  constructor(tracing: Tracing) {
    this.#tracing = tracing;
  }

  /**
   * Counts a run, and adds its parts to the current trace. The parts follow one another, and the last part ends now.
   */
  recordRun(run: OpRun): void {
    const { op, work, bytesIn, bytesOut, decodeMs = 0, processMs = 0, encodeMs = 0 } = run;
    this.#durations.observe({ op, work }, (decodeMs + processMs + encodeMs) / 1000);
    for (const part of RUN_PARTS) {
      const ms = run[`${part}Ms`];
      if (ms !== undefined) this.#parts.inc({ op, work, part }, ms / 1000);
    }
    this.#bytes.inc({ op, direction: 'in' }, bytesIn);
    this.#bytes.inc({ op, direction: 'out' }, bytesOut);
    if (this.#tracing.isOn) this.#tracing.parts(spanPartsOf(run));
  }
}

function spanPartsOf(run: OpRun): SpanPart[] {
  let agoMs = 0;
  return RUN_PARTS.toReversed().flatMap((name): SpanPart[] => {
    const ms = run[`${name}Ms`];
    if (ms === undefined) return [];
    agoMs += ms;
    const attributes = { 'darkroom.op': run.op, 'darkroom.work': run.work };
    return [{ name, startedAgoMs: agoMs, endedAgoMs: agoMs - ms, attributes }];
  });
}

/** The load of a pool at one moment. */
interface PoolStats {
  /** The number of tasks that may run at once. */
  slots: number;
  busy: number;
  waiting: number;
  /** The estimated memory of the running work, and its limit; absent for a pool without a memory budget. */
  reservedBytes?: number;
  budgetBytes?: number;
}

/** The labels of work in a pool: a class of callers, and a kind of work. */
interface PoolWorkLabels {
  pool: string;
  work: 'call' | 'job';
  kind: string;
}

/** Work that has ended in a pool, whatever its outcome. */
interface EndedPoolWork {
  pool: string;
  /** The reason for which the work got the lowest priority, if it did. */
  reason?: string | undefined;
  /** The CPU time of the worker, in milliseconds. */
  cpuMs: number;
  outcome: string;
}

const WAIT_BUCKETS_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10];

export class PoolMeter {
  readonly #waits = new Histogram({
    name: 'darkroom_pool_wait_seconds',
    help: 'Time that work waited for a slot of the pool.',
    labelNames: ['pool', 'work'],
    buckets: WAIT_BUCKETS_SECONDS,
  });
  readonly #works = new Counter({
    name: 'darkroom_pool_work_total',
    help: 'Pieces of work that ended in the pool, by class (call or job), kind and outcome.',
    labelNames: ['pool', 'work', 'kind', 'outcome'],
  });
  readonly #workerSeconds = new Counter({
    name: 'darkroom_pool_worker_seconds_total',
    help: 'CPU time that the workers of a pool of images used, by outcome: done, failed, or abandoned (past its deadline, or its client had gone).',
    labelNames: ['pool', 'outcome'],
  });
  readonly #lowPriority = new Counter({
    name: 'darkroom_pool_low_priority_total',
    help: 'Passes that ran at the lowest priority, by reason: estimate (it may take longer than 2 s), budget (its account is past IMAGE_ACCOUNT_SECONDS), deadline (an equal pass of the account had just met its deadline).',
    labelNames: ['reason'],
  });

  constructor() {
    for (const reason of ['estimate', 'budget', 'deadline']) this.#lowPriority.inc({ reason }, 0);
  }

  /**
   * Reports the load of pools in gauges.
   * @param pools the pools of this process, by name; each function is called at every scrape.
   */
  watchPools(pools: Record<string, () => PoolStats>): void {
    const gauge = (name: string, help: string, field: keyof PoolStats) =>
      new Gauge({
        name,
        help,
        labelNames: ['pool'],
        collect() {
          for (const [pool, stats] of Object.entries(pools)) {
            const value = stats()[field];
            if (value !== undefined) this.set({ pool }, value);
          }
        },
      });
    gauge('darkroom_pool_threads', 'Threads of the pool.', 'slots');
    gauge(
      'darkroom_pool_busy',
      'Work under way: more than there are threads while calls work beside items of jobs.',
      'busy',
    );
    gauge('darkroom_pool_queued', 'Work that waits for a thread.', 'waiting');
    gauge(
      'darkroom_pool_reserved_bytes',
      'Memory that the work under way is estimated to take.',
      'reservedBytes',
    );
    gauge('darkroom_pool_budget_bytes', 'Memory that the work under way may take together.', 'budgetBytes');
  }

  /**
   * Counts work that ended.
   * @param waitSeconds how long the work waited for its slot.
   */
  recordPoolWork(
    { pool, work, kind }: PoolWorkLabels,
    waitSeconds: number,
    outcome: 'done' | 'failed',
  ): void {
    this.#works.inc({ pool, work, kind, outcome });
    if (outcome === 'done') this.#waits.observe({ pool, work }, waitSeconds);
  }

  /** Counts the time of a worker, and work of the lowest priority. */
  recordPoolWorkEnd({ pool, reason, cpuMs, outcome }: EndedPoolWork): void {
    this.#workerSeconds.inc({ pool, outcome }, cpuMs / 1_000);
    if (reason !== undefined) this.#lowPriority.inc({ reason });
  }
}
