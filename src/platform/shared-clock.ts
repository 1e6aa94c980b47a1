import { type Clock, systemClock } from './clock.ts';

/** Smaller differences are ignored: NTP keeps hosts closer together than a busy process can measure. */
const MIN_INTERVAL_MS = 1_000;
/** From this difference on, the log warns that the clock of the host is wrong. */
const WRONG_FROM_MS = 5_000;
/** From this difference on, a process leaves sweeping to other hosts, if there are any. */
const YIELDS_FROM_MS = 15_000;
const INTERVAL_MS = 60_000;
const SAMPLES = 3;
/** Slower answers are ignored, because the time at which they were given is too uncertain. */
const MAX_SAMPLE_MS = 1_000;

interface SharedClockOptions {
  /** Reads the shared clock, in epoch milliseconds. */
  readTime: () => Promise<number>;
  /** The clock of this host. */
  now: () => Date;
  timer?: Pick<Clock, 'after'>;
  log: { error(context: object, message: string): void; warn(context: object, message: string): void };
}

export interface SharedClock {
  now(): Date;
  /**
   * The last measured difference: milliseconds by which the shared clock is ahead of this host's; negative when it is
   * behind.
   */
  differenceMs(): number;
  isWrong(): boolean;
  yields(): boolean;
  close(): void;
}

/**
 * One clock for all hosts: the host's own, corrected by its difference from the clock of coordination. Stored instants
 * that another host compares (leases of items, pauses, expiries) use it, so that hosts agree even if their clocks
 * differ by minutes. MongoDB's own clock ($$NOW) is no alternative, because it is only available in pipeline updates,
 * which the embedded store does not have. The difference is measured at the start and each minute; when a clock is set
 * between two measurements, the difference is wrong until the next one.
 * @throws the error of `readTime` at the first measurement.
 */
export async function openSharedClock(options: SharedClockOptions): Promise<SharedClock> {
  const { readTime, now, log, timer = systemClock } = options;
  let measuredMs = 0;
  let isClosed = false;
  let stopWaiting = () => {};

  /** The difference by the fastest of several answers; null when none was fast enough. */
  async function difference(): Promise<number | null> {
    let fastestMs = MAX_SAMPLE_MS;
    let differenceMs: number | null = null;
    for (let sample = 0; sample < SAMPLES; sample += 1) {
      const sentMs = now().getTime();
      const sharedMs = await readTime();
      const tookMs = now().getTime() - sentMs;
      if (tookMs < 0 || tookMs >= fastestMs) continue;
      fastestMs = tookMs;
      differenceMs = sharedMs - (sentMs + tookMs / 2);
    }
    return differenceMs;
  }

  async function measure(): Promise<void> {
    const found = await difference();
    if (found === null) return log.warn({}, 'The shared clock was not measured: its answers took too long');
    measuredMs = found;
    if (isWrong())
      log.error(
        { differenceMs: Math.round(found) },
        'The clock of this host is wrong, or the one of Redis is: synchronise both by NTP',
      );
  }

  function measureLater(): void {
    if (isClosed) return;
    stopWaiting = timer.after(INTERVAL_MS, () => {
      measure()
        .catch((error) => log.warn({ err: error }, 'The shared clock was not measured'))
        .finally(measureLater);
    });
  }

  const isWrong = () => Math.abs(measuredMs) > WRONG_FROM_MS;
  await measure();
  measureLater();
  return {
    now: () => {
      const own = now();
      return Math.abs(measuredMs) < MIN_INTERVAL_MS ? own : new Date(own.getTime() + Math.round(measuredMs));
    },
    differenceMs: () => measuredMs,
    isWrong,
    yields: () => Math.abs(measuredMs) > YIELDS_FROM_MS,
    close() {
      isClosed = true;
      stopWaiting();
    },
  };
}
