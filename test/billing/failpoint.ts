import type { BillingStore } from '../../src/billing/store.ts';
import type { Collection, Document } from '../../src/stores/documents/port.ts';
import { DOCUMENT_CHANGES } from '../dying.ts';

/** Where a process dies: just before its n-th write (from 1), or after it and before its answer. */
export interface Failpoint {
  write: number;
  moment: 'before' | 'after';
  /** Ends the process, or throws as if it had. */
  die: () => Promise<never>;
}

/** A view of a billing store through which a process reaches its failpoint. Once dead, it reads and writes nothing. */
export function failingStore(store: BillingStore, failpoint: Failpoint): BillingStore {
  let writes = 0;
  let isDead = false;

  async function attempt(isWrite: boolean, run: () => unknown): Promise<unknown> {
    if (isWrite) writes += 1;
    const isPoint = isWrite && writes === failpoint.write;
    if (isDead) return failpoint.die();
    if (!isPoint) return run();
    isDead = true;
    if (failpoint.moment === 'after') await run();
    return failpoint.die();
  }

  function through<T extends Document>(collection: Collection<T>): Collection<T> {
    return new Proxy(collection, {
      get(target, name) {
        const method = Reflect.get(target, name) as (...args: unknown[]) => unknown;
        return (...args: unknown[]) =>
          attempt(DOCUMENT_CHANGES.has(String(name)), () => method.apply(target, args));
      },
    });
  }

  return {
    money: through(store.money),
    ledger: through(store.ledger),
    usage: {
      hours: through(store.usage.hours),
      days: through(store.usage.days),
      runs: through(store.usage.runs),
    },
    runMovements: through(store.runMovements),
  };
}
