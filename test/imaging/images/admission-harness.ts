import { AdmissionQueue } from '../../../src/imaging/images/admission.ts';
import type { PoolSlot, WaitingLimits, WorkClass } from '../../../src/imaging/images/slots.ts';
import { manualClock } from '../../support/clock.ts';

export const forever = new AbortController().signal;

/** Callers of an admission. Each slot is kept in `admitted`, in the order of admission. */
function callersOf(admission: AdmissionQueue) {
  const admitted: { name: string; slot: PoolSlot }[] = [];
  return {
    admitted,
    names: () => admitted.map(({ name }) => name).join(' '),
    async acquire(
      name: string,
      accountId = name,
      bytes = 0,
      signal = forever,
      work?: WorkClass,
    ): Promise<void> {
      const slot = await admission.acquire({ accountId, bytes, signal, work });
      admitted.push({ name, slot });
    },
    async releaseFirst(): Promise<void> {
      admitted.shift()?.slot.release();
      await settle();
    },
  };
}

/** Lets pending promises settle. */
export const settle = () => new Promise(setImmediate);

export const open = (
  options: {
    slots?: number;
    callsBesideJobs?: boolean;
    mustYield?: (accountId: string) => boolean;
    slotsPerAccount?: number;
    limits?: Partial<WaitingLimits>;
  } = {},
) => {
  const clock = manualClock();
  const limits: WaitingLimits = { calls: 10, ...options.limits };
  const admission = new AdmissionQueue({
    ...{ slots: 1, budgetBytes: 100, clock },
    ...options,
    limits: () => limits,
  });
  return { clock, admission, limits, ...callersOf(admission) };
};
