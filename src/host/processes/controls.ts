import type { CapacitySetting } from '../../platform/capacity/capacity.ts';
import { randomText } from '../../platform/names/ids.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';

/** The controls that an operator has over the running processes of every host. */
export type Control =
  | { kind: 'pools' }
  /** What the process counted so far. */
  | { kind: 'load' }
  | { kind: 'log'; level: string; forMs: number | null }
  | { kind: 'drain'; hostId: string; processId: string }
  /** `save`: also written down, for the starts to come. */
  | { kind: 'set'; name: CapacitySetting; value: number; save: boolean };

/** Names a process of a host; the primary's processId is `primary`. */
export interface ProcessName {
  hostId: string;
  processId: string;
}

export interface ControlAnswer extends ProcessName {
  /** The answer of the process; null when the question was not for it. */
  data: Record<string, unknown> | null;
  /** Why it could not. */
  error?: string;
}

export type ControlHandler = (control: Control) => Promise<Record<string, unknown> | null>;

const QUESTIONS = 'controls';
/** How long an answer may take: a process that is replaced finishes its calls first. */
const LONGEST_MS: Record<Control['kind'], number> = {
  pools: 5_000,
  load: 5_000,
  log: 5_000,
  set: 60_000,
  drain: 60_000,
};

/**
 * Asks every process of every host. Answers come over coordination, where a message may be lost: a process that does
 * not answer in time is missing from the list, and the operator asks again.
 */
export async function askProcesses(coordination: Coordination, control: Control): Promise<ControlAnswer[]> {
  const id = randomText(16);
  const answers: ControlAnswer[] = [];
  const enough = Promise.withResolvers<void>();
  let expected = Number.POSITIVE_INFINITY;
  const unsubscribe = await coordination.subscribe(`${QUESTIONS}/${id}`, (message) => {
    answers.push(JSON.parse(message) as ControlAnswer);
    if (answers.length >= expected) enough.resolve();
  });
  const late = setTimeout(enough.resolve, LONGEST_MS[control.kind]);
  try {
    expected = await coordination.publish(QUESTIONS, JSON.stringify({ id, control }));
    if (answers.length < expected) await enough.promise;
    return answers.sort((a, b) => nameOf(a).localeCompare(nameOf(b)));
  } finally {
    clearTimeout(late);
    unsubscribe();
  }
}

/** Answers the questions of operators in this process. Resolves with the end of it. */
export function answerControls(
  coordination: Coordination,
  name: ProcessName,
  handle: ControlHandler,
): Promise<() => void> {
  async function answer(message: string): Promise<void> {
    const { id, control } = JSON.parse(message) as { id: string; control: Control };
    const outcome = await handle(control).then(
      (data): ControlAnswer => ({ ...name, data }),
      (error: Error): ControlAnswer => ({ ...name, data: null, error: error.message }),
    );
    await coordination.publish(`${QUESTIONS}/${id}`, JSON.stringify(outcome));
  }
  return coordination.subscribe(QUESTIONS, (message) => {
    // A lost answer is asked for again.
    answer(message).catch(() => undefined);
  });
}

function nameOf({ hostId, processId }: ProcessName): string {
  return `${hostId}/${processId.padStart(6, '0')}`;
}
