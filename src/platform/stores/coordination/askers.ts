import type { SharedSlotQuestion } from './port.ts';

/** One owner that shares slots with others. */
interface Asker {
  askedMs: number;
  /** When it began to wait; absent when it has been served since. */
  waitsSinceMs?: number;
}

/** The owners that request the slots of one key, and whose turn it is. */
export class Askers {
  readonly #askers = new Map<string, Asker>();

  /**
   * Whether an owner may take a free slot; otherwise it is registered as waiting.
   * @param holders the holders of the taken slots.
   */
  mayTake(
    { limit, holder, seenMs, waitMs }: SharedSlotQuestion,
    holders: readonly string[],
    now: number,
  ): boolean {
    for (const [name, { askedMs }] of this.#askers) if (askedMs <= now - seenMs) this.#askers.delete(name);
    const owner = ownerOf(holder);
    const held = new Map<string, number>();
    for (const name of holders.map(ownerOf)) held.set(name, (held.get(name) ?? 0) + 1);
    const mine = held.get(owner) ?? 0;
    const { waitsSinceMs: since = now } = this.#askers.get(owner) ?? {};
    const others = [...this.#askers].filter(([name]) => name !== owner);
    const isBehind = others.some(([name, { askedMs, waitsSinceMs }]) => {
      if (waitsSinceMs === undefined || askedMs <= now - waitMs) return false;
      const theirs = held.get(name) ?? 0;
      return theirs < mine || (theirs === mine && waitsSinceMs < since);
    });
    const hasItsShare = others.length > 0 && mine >= Math.ceil(limit / 2);
    const mayTake = holders.includes(holder) || (holders.length < limit && !isBehind && !hasItsShare);
    this.#askers.set(owner, { askedMs: now, ...(!mayTake && { waitsSinceMs: since }) });
    return mayTake;
  }
}

/** The text after the last slash. */
function ownerOf(holder: string): string {
  return holder.slice(holder.lastIndexOf('/') + 1);
}
