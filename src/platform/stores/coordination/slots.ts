import { ExpiringMap } from './expiring-map.ts';
import type { SharedSlotTerms, SlotTerms } from './port.ts';
import { SlotOwners } from './slot-owners.ts';

/** The slots of each key, each held until its lease ends. */
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

  /** False when every slot is taken by another. */
  take(request: SlotTerms): boolean {
    return this.#hold(request, (holders) => holders.has(request.holder) || holders.size < request.limit);
  }

  /** False when every slot is taken, or when another owner is served first. */
  takeShared(request: SharedSlotTerms): boolean {
    const owners = this.#ownersOf.get(request.key) ?? new SlotOwners();
    this.#ownersOf.set(request.key, owners, this.#now() + request.seenMs);
    return this.#hold(request, (holders) => owners.mayTake(request, [...holders.keys()], this.#now()));
  }

  /** False when the slot is not held any more. */
  renew(key: string, holder: string, leaseMs: number): boolean {
    return this.#hold({ key, holder, leaseMs }, (holders) => holders.has(holder));
  }

  release(key: string, holder: string): void {
    this.#releaseWhere(key, (one) => one === holder);
  }

  releaseOf(prefix: string): void {
    for (const key of [...this.#holdersOf.keys()]) this.#releaseWhere(key, (one) => one.startsWith(prefix));
  }

  #alive(key: string): Map<string, number> {
    const nowMs = this.#now();
    return new Map([...(this.#holdersOf.get(key) ?? [])].filter(([, endsMs]) => endsMs > nowMs));
  }

  #store(key: string, holders: Map<string, number>): void {
    if (holders.size === 0) this.#holdersOf.delete(key);
    else this.#holdersOf.set(key, holders, Math.max(...holders.values()));
  }

  /** Stores the lease of a holder if it may hold a slot; returns whether it may. */
  #hold(
    { key, holder, leaseMs }: Pick<SlotTerms, 'key' | 'holder' | 'leaseMs'>,
    mayHold: (holders: ReadonlyMap<string, number>) => boolean,
  ): boolean {
    const holders = this.#alive(key);
    if (!mayHold(holders)) return false;
    this.#store(key, holders.set(holder, this.#now() + leaseMs));
    return true;
  }

  #releaseWhere(key: string, matches: (holder: string) => boolean): void {
    const kept = [...this.#alive(key)].filter(([holder]) => !matches(holder));
    this.#store(key, new Map(kept));
  }
}
