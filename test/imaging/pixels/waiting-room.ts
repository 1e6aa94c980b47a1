import {
  type Admission,
  createAdmission,
  type Slot,
  type WaitingLimits,
  type WorkClass,
} from '../../../src/imaging/pixels/admission.ts';
import { handClock } from '../../support/clock.ts';

export const forever = new AbortController().signal;

/** Asks for a slot and keeps it in `seated`, in the order in which slots are given. */
function visitors(admission: Admission) {
  const seated: { name: string; slot: Slot }[] = [];
  return {
    seated,
    names: () => seated.map(({ name }) => name).join(' '),
    async ask(name: string, accountId = name, bytes = 0, signal = forever, work?: WorkClass): Promise<void> {
      const slot = await admission.acquire({ accountId, bytes, signal, work });
      seated.push({ name, slot });
    },
    async leave(): Promise<void> {
      seated.shift()?.slot.release();
      await turn();
    },
  };
}

/** Lets what is resolved be told. */
export const turn = () => new Promise(setImmediate);

export const open = (
  options: { slots?: number; callsBesideJobs?: boolean; limits?: Partial<WaitingLimits> } = {},
) => {
  const clock = handClock();
  const limits: WaitingLimits = { calls: 10, ...options.limits };
  const admission = createAdmission({
    ...{ slots: 1, budgetBytes: 100, clock },
    ...options,
    limits: () => limits,
  });
  return { clock, admission, limits, ...visitors(admission) };
};
