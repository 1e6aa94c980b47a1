import type { Claimed, JobDocument } from '../job.ts';
import { Abandoned, type Perform } from './item-work.ts';

/** The claim of a new job's only item, before both are stored. The first call of the last three ends it. */
export interface EarlyClaim {
  /** As it is to be stored. */
  item: Claimed;
  /** Begins what has no effect outside this process, beside the writes that accept the job. */
  prepare(job: JobDocument): void;
  /** Works on it: its job runs. */
  begin(job: JobDocument): void;
  /** Leaves it to whoever runs the job later. */
  giveBack(): Promise<void>;
  /** Forgets it: there is no job. */
  drop(): void;
}

/** What a runner does for an item that it has in its hand. */
interface Hand {
  prepare(job: JobDocument, unwanted: AbortSignal, shown: Promise<unknown>): ReturnType<Perform>;
  /** Works on the item, or waits for what was prepared. */
  work(job: JobDocument, prepared: ReturnType<Perform> | undefined): void;
  /** Makes the item ready in the store. */
  unclaim(): Promise<void>;
  /** Takes it out of the hand. */
  leave(): void;
}

export function earlyClaimOf(item: Claimed, hand: Hand): EarlyClaim {
  const shown = Promise.withResolvers<void>();
  const unwanted = new AbortController();
  let prepared: ReturnType<Perform> | undefined;
  let isOver = false;

  function drop(): void {
    if (isOver) return;
    isOver = true;
    const reason = new Abandoned('There is no job to work for, or not yet.');
    unwanted.abort(reason);
    shown.reject(reason);
    hand.leave();
  }

  // It is rejected where nothing waits for it, too.
  shown.promise.catch(() => undefined);

  return {
    item,
    prepare(job) {
      prepared = hand.prepare(job, unwanted.signal, shown.promise);
    },
    begin(job) {
      isOver = true;
      shown.resolve();
      hand.work(job, prepared);
    },
    giveBack: () => hand.unclaim().finally(drop),
    drop,
  };
}
