import { createExpiringMap } from './expiring-map.ts';
import type { SharedSlotTerms, SlotTerms } from './port.ts';
import { SlotOwners } from './slot-owners.ts';

/** The slots of each key, each held until its lease ends. */
interface LeasedSlots {
  /** False when every slot is taken by another. */
  take(request: SlotTerms): boolean;
  /** False when every slot is taken, or when another owner is served first. */
  takeShared(request: SharedSlotTerms): boolean;
  /** False when the slot is not held any more. */
  renew(key: string, holder: string, leaseMs: number): boolean;
  release(key: string, holder: string): void;
  releaseOf(prefix: string): void;
}

export function createSlots(now: () => number): LeasedSlots {
  /** The holders of each key with the end of their lease. An entry expires with its longest lease. */
  const holdersOf = createExpiringMap<Map<string, number>>(now);
  /** The owners of shared slots. An entry expires when its last owner is no longer seen. */
  const ownersOf = createExpiringMap<SlotOwners>(now);

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
    { key, holder, leaseMs }: Pick<SlotTerms, 'key' | 'holder' | 'leaseMs'>,
    mayHold: (holders: ReadonlyMap<string, number>) => boolean,
  ): boolean {
    const holders = alive(key);
    if (!mayHold(holders)) return false;
    store(key, holders.set(holder, now() + leaseMs));
    return true;
  }

  function releaseWhere(key: string, matches: (holder: string) => boolean): void {
    const kept = [...alive(key)].filter(([holder]) => !matches(holder));
    store(key, new Map(kept));
  }

  return {
    take: (request) =>
      hold(request, (holders) => holders.has(request.holder) || holders.size < request.limit),
    takeShared(request) {
      const owners = ownersOf.get(request.key) ?? new SlotOwners();
      ownersOf.set(request.key, owners, now() + request.seenMs);
      return hold(request, (holders) => owners.mayTake(request, [...holders.keys()], now()));
    },
    renew: (key, holder, leaseMs) => hold({ key, holder, leaseMs }, (holders) => holders.has(holder)),
    release: (key, holder) => releaseWhere(key, (one) => one === holder),
    releaseOf(prefix) {
      for (const key of [...holdersOf.keys()]) releaseWhere(key, (one) => one.startsWith(prefix));
    },
  };
}
