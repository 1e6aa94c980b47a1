import type { LeasedSlotRequest, SharedSlotRequest } from './port.ts';

/**
 * The number of entries that each `set` checks, the oldest first. With only one, a growing map would never be checked
 * completely.
 */
const ENTRIES_CHECKED_PER_SET = 2;

/**
 * A map whose entries expire. It needs no timer: each `set` checks a few old entries and drops the expired ones, so
 * that its memory stays in proportion to the live entries.
 */
export class ExpiringMap<V> {
  readonly #now: () => number;
  readonly #entries = new Map<string, { value: V; endsMs: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The number of entries, including expired ones that are not dropped yet. */
  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.endsMs > this.#now() ? entry.value : undefined;
  }

  /** The remaining lifetime of an entry in milliseconds; 0 when there is none. */
  leftMs(key: string): number {
    return Math.max((this.#entries.get(key)?.endsMs ?? 0) - this.#now(), 0);
  }

  set(key: string, value: V, endsMs: number): void {
    this.#sweep();
    this.#entries.set(key, { value, endsMs });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  keys(): Iterable<string> {
    return this.#entries.keys();
  }

  /** Live entries are moved to the end, so that every entry is checked in turn. */
  #sweep(): void {
    for (const [key, entry] of this.#entries.entries().take(ENTRIES_CHECKED_PER_SET).toArray()) {
      this.#entries.delete(key);
      if (entry.endsMs > this.#now()) this.#entries.set(key, entry);
    }
  }
}

/** Counters by key. Each counts in a window that starts with its first count and ends by itself. */
export class CountingWindows {
  readonly #now: () => number;
  readonly #counts: ExpiringMap<number>;

  constructor(now: () => number) {
    this.#now = now;
    this.#counts = new ExpiringMap<number>(now);
  }

  count(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  /** Milliseconds until the window ends; 0 when it has not started. */
  leftMs(key: string): number {
    return this.#counts.leftMs(key);
  }

  /** Adds to the count of a window and returns the new count. */
  increment(key: string, windowMs: number, by = 1): number {
    const increased = this.count(key) + by;
    this.#counts.set(key, increased, this.#now() + (this.#counts.leftMs(key) || windowMs));
    return increased;
  }

  /** Subtracts one; an empty or ended window stays unchanged. */
  decrement(key: string): void {
    if (this.count(key) > 0)
      this.#counts.set(key, this.count(key) - 1, this.#now() + this.#counts.leftMs(key));
  }
}

/** One owner that shares slots with others. */
interface SlotOwner {
  /** When the owner last requested a slot. */
  requestedMs: number;
  /** When the owner began to wait; absent when it has been served since. */
  waitsSinceMs?: number;
}

/** The owners that request the slots of one key. The class decides which of them is served next. */
class SlotOwners {
  readonly #owners = new Map<string, SlotOwner>();

  /**
   * Whether an owner may take a free slot. If not, the owner is registered as waiting.
   * @param holders the holders of the taken slots.
   */
  mayTake(
    { limit, holder, seenMs, waitMs }: SharedSlotRequest,
    holders: readonly string[],
    now: number,
  ): boolean {
    for (const [name, { requestedMs }] of this.#owners)
      if (requestedMs <= now - seenMs) this.#owners.delete(name);
    const owner = ownerOf(holder);
    const slotsByOwner = new Map<string, number>();
    for (const name of holders.map(ownerOf)) slotsByOwner.set(name, (slotsByOwner.get(name) ?? 0) + 1);
    const ownSlots = slotsByOwner.get(owner) ?? 0;
    const { waitsSinceMs: since = now } = this.#owners.get(owner) ?? {};
    const others = [...this.#owners].filter(([name]) => name !== owner);
    const isOtherFirst = others.some(([name, { requestedMs, waitsSinceMs }]) => {
      if (waitsSinceMs === undefined || requestedMs <= now - waitMs) return false;
      const otherSlots = slotsByOwner.get(name) ?? 0;
      return otherSlots < ownSlots || (otherSlots === ownSlots && waitsSinceMs < since);
    });
    const share = others.length > 0 ? Math.ceil(limit / 2) : Math.max(1, limit - 1);
    const mayTake = holders.includes(holder) || (holders.length < limit && !isOtherFirst && ownSlots < share);
    this.#owners.set(owner, { requestedMs: now, ...(!mayTake && { waitsSinceMs: since }) });
    return mayTake;
  }
}

/** The owner in the name of a holder: the text after the last slash. */
function ownerOf(holder: string): string {
  return holder.slice(holder.lastIndexOf('/') + 1);
}

/** The slots of each key. A slot is held until its lease ends. */
export class LeasedSlots {
  readonly #now: () => number;
  /** The holders of each key with the end of their lease. An entry expires with its longest lease. */
  readonly #holdersOf: ExpiringMap<Map<string, number>>;
  /** The owners of shared slots. An entry expires when its last owner is no longer seen. */
  readonly #ownersOf: ExpiringMap<SlotOwners>;

  constructor(now: () => number) {
    this.#now = now;
    this.#holdersOf = new ExpiringMap<Map<string, number>>(now);
    this.#ownersOf = new ExpiringMap<SlotOwners>(now);
  }

  /** Takes a slot. False when other holders have every slot. */
  take(request: LeasedSlotRequest): boolean {
    return this.#holdIf(request, (holders) => holders.has(request.holder) || holders.size < request.limit);
  }

  /** Takes a shared slot. False when every slot is taken, or when another owner must be served first. */
  takeShared(request: SharedSlotRequest): boolean {
    const owners = this.#ownersOf.get(request.key) ?? new SlotOwners();
    this.#ownersOf.set(request.key, owners, this.#now() + request.seenMs);
    return this.#holdIf(request, (holders) => owners.mayTake(request, [...holders.keys()], this.#now()));
  }

  /** Extends the lease of a slot. False when the slot is not held any more. */
  renew(key: string, holder: string, leaseMs: number): boolean {
    return this.#holdIf({ key, holder, leaseMs }, (holders) => holders.has(holder));
  }

  release(key: string, holder: string): void {
    this.#releaseWhere(key, (one) => one === holder);
  }

  releaseByPrefix(prefix: string): void {
    for (const key of [...this.#holdersOf.keys()]) this.#releaseWhere(key, (one) => one.startsWith(prefix));
  }

  #liveHolders(key: string): Map<string, number> {
    const nowMs = this.#now();
    return new Map([...(this.#holdersOf.get(key) ?? [])].filter(([, endsMs]) => endsMs > nowMs));
  }

  #setHolders(key: string, holders: Map<string, number>): void {
    if (holders.size === 0) this.#holdersOf.delete(key);
    else this.#holdersOf.set(key, holders, Math.max(...holders.values()));
  }

  /** Stores the lease of a holder if it may hold a slot; returns whether it may. */
  #holdIf(
    { key, holder, leaseMs }: Pick<LeasedSlotRequest, 'key' | 'holder' | 'leaseMs'>,
    mayHold: (holders: ReadonlyMap<string, number>) => boolean,
  ): boolean {
    const holders = this.#liveHolders(key);
    if (!mayHold(holders)) return false;
    this.#setHolders(key, holders.set(holder, this.#now() + leaseMs));
    return true;
  }

  #releaseWhere(key: string, matches: (holder: string) => boolean): void {
    const kept = [...this.#liveHolders(key)].filter(([holder]) => !matches(holder));
    this.#setHolders(key, new Map(kept));
  }
}
