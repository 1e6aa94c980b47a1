import { type Clock, systemClock } from './clock.ts';

/** NTP keeps hosts closer together than a busy process can measure: less is no difference. */
const LEAST_MS = 1_000;
/** From this difference on the host's clock is wrong, and the log says so. */
const WRONG_FROM_MS = 5_000;
/** From here on a process leaves what is swept to others, where there are any. */
const YIELDS_FROM_MS = 15_000;
const EVERY_MS = 60_000;
const QUESTIONS = 3;
/** An answer that took longer says too little of when it was given. */
const LONGEST_QUESTION_MS = 1_000;

interface SharedClockOptions {
  /** The shared clock, in epoch milliseconds. */
  ask: () => Promise<number>;
  /** The clock of this host. */
  now: () => Date;
  timer?: Pick<Clock, 'after'>;
  log: { error(context: object, message: string): void; warn(context: object, message: string): void };
}

export interface SharedClock {
  now(): Date;
  /** Milliseconds that the shared clock is ahead of this host's, as measured last; negative where it is behind. */
  differenceMs(): number;
  isWrong(): boolean;
  yields(): boolean;
  close(): void;
}

/**
 * One clock for all hosts: the host's own, put right by how far it is from the one of coordination. Whatever is stored
 * with an instant that another host compares (leases of items, pauses, expiries) goes by it, so hosts whose clocks are
 * minutes apart agree on it. The documents' own clock would do as well on MongoDB, by $$NOW, but only in updates that
 * are pipelines, which the embedded store has not; and one measured difference serves reads, rules and signatures too.
 * It is measured now and each minute; a clock that is set between two measures is wrong until the next one.
 * @throws what `ask` throws, at the first measure.
 */
export async function openSharedClock(options: SharedClockOptions): Promise<SharedClock> {
  const { ask, now, log, timer = systemClock } = options;
  let measuredMs = 0;
  let isClosed = false;
  let stopWaiting = () => {};

  /** The difference in the question that was answered fastest; null when none was fast enough. */
  async function difference(): Promise<number | null> {
    let best = { tookMs: LONGEST_QUESTION_MS, differenceMs: Number.NaN };
    for (let question = 0; question < QUESTIONS; question += 1) {
      const askedMs = now().getTime();
      const itsMs = await ask();
      const tookMs = now().getTime() - askedMs;
      if (tookMs >= 0 && tookMs < best.tookMs)
        best = { tookMs, differenceMs: itsMs - (askedMs + tookMs / 2) };
    }
    return Number.isNaN(best.differenceMs) ? null : best.differenceMs;
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
    stopWaiting = timer.after(EVERY_MS, () => {
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
      return Math.abs(measuredMs) < LEAST_MS ? own : new Date(own.getTime() + Math.round(measuredMs));
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
