import { Askers } from './askers.ts';
import { createExpiringMap } from './expiring-map.ts';
import type { SharedSlotQuestion, SlotQuestion } from './port.ts';

/** Slots by key, each held until its lease ends. */
interface Slots {
  /** False when every slot is taken by another. */
  take(question: SlotQuestion): boolean;
  /** False when every slot is taken, or the next one is another owner's. */
  takeShared(question: SharedSlotQuestion): boolean;
  /** False when the slot is not held any more. */
  renew(key: string, holder: string, leaseMs: number): boolean;
  release(key: string, holder: string): void;
  releaseOf(prefix: string): void;
}

export function createSlots(now: () => number): Slots {
  /** The holders of each key with the end of their lease. An entry expires with its longest lease. */
  const holdersOf = createExpiringMap<Map<string, number>>(now);
  /** The owners of shared slots. An entry expires when its last owner is no longer seen. */
  const askersOf = createExpiringMap<Askers>(now);

  function alive(key: string): Map<string, number> {
    const nowMs = now();
    return new Map([...(holdersOf.get(key) ?? [])].filter(([, endsMs]) => endsMs > nowMs));
  }

  function store(key: string, holders: Map<string, number>): void {
    if (holders.size === 0) holdersOf.delete(key);
    else holdersOf.set(key, holders, Math.max(...holders.values()));
  }

  /** Stores the lease of a holder if it may hold a slot; returns whether it may. */
  function hold(
    { key, holder, leaseMs }: Pick<SlotQuestion, 'key' | 'holder' | 'leaseMs'>,
    mayHold: (holders: ReadonlyMap<string, number>) => boolean,
  ): boolean {
    const holders = alive(key);
    if (!mayHold(holders)) return false;
    store(key, holders.set(holder, now() + leaseMs));
    return true;
  }

  function releaseWhere(key: string, matches: (holder: string) => boolean): void {
    const left = [...alive(key)].filter(([holder]) => !matches(holder));
    store(key, new Map(left));
  }

  return {
    take: (question) =>
      hold(question, (holders) => holders.has(question.holder) || holders.size < question.limit),
    takeShared(question) {
      const askers = askersOf.get(question.key) ?? new Askers();
      askersOf.set(question.key, askers, now() + question.seenMs);
      return hold(question, (holders) => askers.mayTake(question, [...holders.keys()], now()));
    },
    renew: (key, holder, leaseMs) => hold({ key, holder, leaseMs }, (holders) => holders.has(holder)),
    release: (key, holder) => releaseWhere(key, (one) => one === holder),
    releaseOf(prefix) {
      for (const key of [...holdersOf.keys()]) releaseWhere(key, (one) => one.startsWith(prefix));
    },
  };
}
