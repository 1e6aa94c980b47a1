import cluster from 'node:cluster';
import { isMainThread } from 'node:worker_threads';
import { Gauge, register } from 'prom-client';

/** The longest turn of an event loop. */
export interface LongestTurn {
  /** From its start to its end, with the time in which the kernel gave the core to others. */
  ms: number;
  /** CPU time of the thread in the turn that took most of it, which a busy machine does not stretch. */
  cpuMs: number;
}

/** The interval between two checks. A measured turn may be too long by up to this time. */
const CHECK_INTERVAL_MS = 2;

/** Watches the event loop of this thread. @returns a function that returns its longest turn since the last call. */
export function watchTurns(): () => LongestTurn {
  let longest: LongestTurn = { ms: 0, cpuMs: 0 };
  let last = readLongestTurn();
  const note = () => {
    const now = readLongestTurn();
    longest = {
      ms: Math.max(longest.ms, now.ms - last.ms),
      cpuMs: Math.max(longest.cpuMs, now.cpuMs - last.cpuMs),
    };
    last = now;
  };
  setInterval(note, CHECK_INTERVAL_MS).unref();
  return () => {
    const turn = longest;
    longest = { ms: 0, cpuMs: 0 };
    return turn;
  };
}

function readLongestTurn(): LongestTurn {
  const { user, system } = process.threadCpuUsage();
  return { ms: performance.now(), cpuMs: (user + system) / 1_000 };
}

/** The metrics of the longest turn of the event loops of all API processes since they were last read. */
export const TURN_METRICS = {
  ms: 'bench_longest_turn_milliseconds',
  cpuMs: 'bench_longest_turn_cpu_milliseconds',
} as const satisfies Record<keyof LongestTurn, string>;

const DECLARE_INTERVAL_MS = 500;

// Preloaded into a service that is measured. The service's own metrics check the event loop too rarely to see a turn of
// 50 ms, in order not to wake an idle process.
if (cluster.isWorker && isMainThread) {
  const longestTurn = watchTurns();
  let turn = longestTurn();
  const declare = () => {
    // The service clears the metrics when it starts.
    if (register.getSingleMetric(TURN_METRICS.ms) !== undefined) return;
    new Gauge({
      name: TURN_METRICS.ms,
      help: 'Longest turn of the event loop since the last scrape.',
      aggregator: 'max',
      collect() {
        turn = longestTurn();
        this.set(turn.ms);
      },
    });
    new Gauge({
      name: TURN_METRICS.cpuMs,
      help: 'CPU time of the turn that took most of it.',
      aggregator: 'max',
      collect() {
        this.set(turn.cpuMs);
      },
    });
  };
  setInterval(declare, DECLARE_INTERVAL_MS).unref();
}
