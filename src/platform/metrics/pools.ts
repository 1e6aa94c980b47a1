import { Counter, Gauge, Histogram } from 'prom-client';

/** A pool at one moment. */
export interface PoolStats {
  threads: number;
  busy: number;
  queued: number;
  /** The estimated memory of the running work, and its limit; absent for a pool that does not admit by memory. */
  reservedBytes?: number;
  budgetBytes?: number;
}

/** The labels of work in a pool: a class of callers, and a kind of work. */
interface PoolWork {
  pool: string;
  work: 'call' | 'job';
  kind: string;
}

export interface PoolMeter {
  /** @param pools the pools of this process, by name; each function is called at every scrape. */
  watch(pools: Record<string, () => PoolStats>): void;
  /** Counts work that ended. @param waitSeconds how long it waited for its slot. */
  worked(work: PoolWork, waitSeconds: number, outcome: 'done' | 'failed'): void;
}

const WAIT_BUCKETS_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10];

export function createPoolMeter(): PoolMeter {
  const waits = new Histogram({
    name: 'darkroom_pool_wait_seconds',
    help: 'Time that work waited for a slot of the pool.',
    labelNames: ['pool', 'work'],
    buckets: WAIT_BUCKETS_SECONDS,
  });
  const works = new Counter({
    name: 'darkroom_pool_work_total',
    help: 'Pieces of work that ended in the pool, by class (call or job), kind and outcome.',
    labelNames: ['pool', 'work', 'kind', 'outcome'],
  });
  return {
    watch: declareGauges,
    worked({ pool, work, kind }, waitSeconds, outcome) {
      works.inc({ pool, work, kind, outcome });
      if (outcome === 'done') waits.observe({ pool, work }, waitSeconds);
    },
  };
}

function declareGauges(pools: Record<string, () => PoolStats>): void {
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
  gauge('darkroom_pool_threads', 'Threads of the pool.', 'threads');
  gauge(
    'darkroom_pool_busy',
    'Work under way: more than there are threads while calls work beside items of jobs.',
    'busy',
  );
  gauge('darkroom_pool_queued', 'Work that waits for a thread.', 'queued');
  gauge(
    'darkroom_pool_reserved_bytes',
    'Memory that the work under way is estimated to take.',
    'reservedBytes',
  );
  gauge('darkroom_pool_budget_bytes', 'Memory that the work under way may take together.', 'budgetBytes');
}
