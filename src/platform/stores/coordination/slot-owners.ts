import type { SharedSlotTerms } from './port.ts';

/** One owner that shares slots with others. */
interface SlotOwner {
  /** When it last requested a slot. */
  requestedMs: number;
  /** When it began to wait; absent when it has been served since. */
  waitsSinceMs?: number;
}

/** The owners that request the slots of one key; decides which of them is served next. */
export class SlotOwners {
  readonly #owners = new Map<string, SlotOwner>();

  /**
   * Whether an owner may take a free slot; otherwise it is registered as waiting.
   * @param holders the holders of the taken slots.
   */
  mayTake(
    { limit, holder, seenMs, waitMs }: SharedSlotTerms,
    holders: readonly string[],
    now: number,
  ): boolean {
    for (const [name, { requestedMs }] of this.#owners)
      if (requestedMs <= now - seenMs) this.#owners.delete(name);
    const owner = ownerOf(holder);
    const held = new Map<string, number>();
    for (const name of holders.map(ownerOf)) held.set(name, (held.get(name) ?? 0) + 1);
    const mine = held.get(owner) ?? 0;
    const { waitsSinceMs: since = now } = this.#owners.get(owner) ?? {};
    const others = [...this.#owners].filter(([name]) => name !== owner);
    const isBehind = others.some(([name, { requestedMs, waitsSinceMs }]) => {
      if (waitsSinceMs === undefined || requestedMs <= now - waitMs) return false;
      const theirs = held.get(name) ?? 0;
      return theirs < mine || (theirs === mine && waitsSinceMs < since);
    });
    const hasItsShare = others.length > 0 && mine >= Math.ceil(limit / 2);
    const mayTake = holders.includes(holder) || (holders.length < limit && !isBehind && !hasItsShare);
    this.#owners.set(owner, { requestedMs: now, ...(!mayTake && { waitsSinceMs: since }) });
    return mayTake;
  }
}

/** The text after the last slash. */
function ownerOf(holder: string): string {
  return holder.slice(holder.lastIndexOf('/') + 1);
}
