import type { CapacitySetting } from '../../platform/concurrency/capacity.ts';
import { answerProcessQuestions, askEveryProcess } from '../../platform/stores/coordination/messages.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';

/** A command that an operator sends to the running processes of every host. */
export type ProcessControl =
  | { kind: 'pools' }
  /**
   * The primary returns what all hosts must share (`DeploymentReport`), and whether it finds the object with the
   * key `object`.
   */
  | { kind: 'settings'; object: string | null }
  /** Returns the counters of the process. */
  | { kind: 'load' }
  /**
   * Returns the same as `pools`. The primary adds a report on its host, with the load history after `afterMs` (epoch
   * milliseconds).
   */
  | { kind: 'state'; afterMs: number }
  | ({ kind: 'log'; level: string; forMs: number | null } & AuthoredControl)
  | ({ kind: 'drain'; hostId: string; processId: string } & AuthoredControl)
  /** With `save`, the setting is also written to the settings file. */
  | ({ kind: 'set'; name: CapacitySetting; value: number; save: boolean } & AuthoredControl);

/** The author of a control that changes a process, for the log. */
interface AuthoredControl {
  by: string;
}

/**
 * The processId of every primary. A primary responds to the same controls as its API processes, and reports on its
 * host.
 */
export const PRIMARY_PROCESS_ID = 'primary';

/** Identifies a process of a host. */
interface ProcessAddress {
  hostId: string;
  processId: string;
}

export interface ControlAnswer extends ProcessAddress {
  /** The result of the process; null when the command was for another process. */
  data: Record<string, unknown> | null;
  /** Why the command failed in the process; absent if it succeeded. */
  error?: string;
}

export type ControlHandler = (control: ProcessControl) => Promise<Record<string, unknown> | null>;

const CONTROLS_CHANNEL = 'controls';
/**
 * The timeout of the answers to each control. For `set` and `drain` it is long, because a process that is replaced
 * finishes its calls first.
 */
const CONTROL_TIMEOUTS_MS: Record<ProcessControl['kind'], number> = {
  pools: 5_000,
  settings: 5_000,
  load: 5_000,
  // The timeout is short, because the console soon requests the state again, and names a process that did not answer.
  state: 1_500,
  log: 5_000,
  set: 60_000,
  drain: 60_000,
};

/**
 * Sends a control to every process of every host over coordination. A process that does not answer in time is missing
 * from the list; the operator can repeat the command.
 */
export async function askProcesses(
  coordination: Coordination,
  control: ProcessControl,
): Promise<ControlAnswer[]> {
  const timeoutMs = CONTROL_TIMEOUTS_MS[control.kind];
  const answers = await askEveryProcess<ControlAnswer>(coordination, CONTROLS_CHANNEL, control, timeoutMs);
  return answers.sort((a, b) => sortKeyOf(a).localeCompare(sortKeyOf(b)));
}

/** The error for a control that no process answered. */
export function noProcessAnsweredError(): Error {
  return new Error('No service runs on these stores: no process answered.');
}

/** Executes the operators' controls in this process. Resolves with a function that ends the subscription. */
export function answerControls(
  coordination: Coordination,
  name: ProcessAddress,
  handle: ControlHandler,
): Promise<() => void> {
  return answerProcessQuestions(coordination, CONTROLS_CHANNEL, (control: ProcessControl) =>
    handle(control).then(
      (data): ControlAnswer => ({ ...name, data }),
      (error: Error): ControlAnswer => ({ ...name, data: null, error: error.message }),
    ),
  );
}

function sortKeyOf({ hostId, processId }: ProcessAddress): string {
  return `${hostId}/${processId.padStart(6, '0')}`;
}
