import { Askers } from './askers.ts';
import { ExpiringMap } from './expiring-map.ts';
import type { SharedSlotQuestion, SlotQuestion } from './port.ts';

/** Slots by key, each held until its lease ends. */
export class Slots {
  /** The holders of each key with the end of their lease. An entry expires with its longest lease. */
  readonly #holders: ExpiringMap<Map<string, number>>;
  /** The owners of shared slots. An entry expires when its last owner is no longer seen. */
  readonly #askers: ExpiringMap<Askers>;
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
    this.#holders = new ExpiringMap(now);
    this.#askers = new ExpiringMap(now);
  }

  /** False when every slot is taken by another. */
  take({ key, limit, holder, leaseMs }: SlotQuestion): boolean {
    const holders = this.#alive(key);
    if (!holders.has(holder) && holders.size >= limit) return false;
    this.#store(key, holders.set(holder, this.#now() + leaseMs));
    return true;
  }

  /** False when every slot is taken, or the next one is another owner's. */
  takeShared(question: SharedSlotQuestion): boolean {
    const { key, holder, leaseMs, seenMs } = question;
    const now = this.#now();
    const askers = this.#askers.get(key) ?? new Askers();
    this.#askers.set(key, askers, now + seenMs);
    const holders = this.#alive(key);
    if (!askers.mayTake(question, [...holders.keys()], now)) return false;
    this.#store(key, holders.set(holder, now + leaseMs));
    return true;
  }

  /** False when the slot is not held any more. */
  renew(key: string, holder: string, leaseMs: number): boolean {
    const holders = this.#alive(key);
    if (!holders.has(holder)) return false;
    this.#store(key, holders.set(holder, this.#now() + leaseMs));
    return true;
  }

  release(key: string, holder: string): void {
    this.#releaseWhere(key, (one) => one === holder);
  }

  releaseOf(prefix: string): void {
    for (const key of [...this.#holders.keys()]) this.#releaseWhere(key, (one) => one.startsWith(prefix));
  }

  #releaseWhere(key: string, matches: (holder: string) => boolean): void {
    const holders = this.#alive(key);
    for (const holder of [...holders.keys()].filter(matches)) holders.delete(holder);
    this.#store(key, holders);
  }

  #alive(key: string): Map<string, number> {
    const now = this.#now();
    return new Map([...(this.#holders.get(key) ?? [])].filter(([, endsMs]) => endsMs > now));
  }

  #store(key: string, holders: Map<string, number>): void {
    if (holders.size === 0) this.#holders.delete(key);
    else this.#holders.set(key, holders, Math.max(...holders.values()));
  }
}
