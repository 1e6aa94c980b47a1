import type { SearchDetails, TaskFailure } from '../protocol.ts';
import type { StepOperation } from './operations/index.ts';
import {
  argumentRefusal,
  BadArgumentError,
  invalidArgument,
  PassRefusal,
  pictureTooLarge,
  unreadablePicture,
} from './refusal.ts';

/** Nobody waits for the answer any more. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
  /** What a search had reached until then; absent where no file was written. */
  readonly details: SearchDetails | undefined;

  constructor(details?: SearchDetails) {
    super();
    this.details = details;
  }
}

/** sharp's message about an argument: "Expected number between 0.3 and 1000 for sigma but received …". */
const SHARP_ARGUMENT = /^Expected (.+) for (?:options\.)?(\w+)/;

/**
 * Turns an error about an argument into a refusal that names the path of the argument; returns any other error
 * unchanged.
 */
export function asArgumentRefusal(
  error: unknown,
  path: string,
  operation: StepOperation,
  params: object,
): unknown {
  if (error instanceof BadArgumentError) return argumentRefusal(error, path, operation, params);
  const [, expected, key] = (error instanceof Error && SHARP_ARGUMENT.exec(error.message)) || [];
  return key === undefined
    ? error
    : invalidArgument(`${path}.${key}`, `${key} does not fit: ${expected} is expected.`);
}

/** Whether an error means that the deadline passed, so that nobody waits for the answer any more. */
export function isDeadlineError(error: unknown): boolean {
  return error instanceof DeadlineError || (error instanceof Error && error.message.startsWith('timeout:'));
}

/**
 * Converts any error of a pass to plain data.
 * @param fromFile whether the failed pipeline read the file. The file is then at fault, because everything else was
 *   checked before.
 */
export function taskFailureOf(error: unknown, fromFile: boolean): TaskFailure {
  if (error instanceof PassRefusal) return error.failure;
  // An error outside of the steps concerns a parameter of the pass itself.
  if (error instanceof BadArgumentError)
    return invalidArgument(error.key, error.message, error.details).failure;
  if (isDeadlineError(error)) {
    return {
      kind: 'failure',
      code: 'internal_error',
      message: 'The pass was not done by its deadline.',
      details: { reason: 'deadline_exceeded', ...(error instanceof DeadlineError && error.details) },
    };
  }
  const isTooLarge = error instanceof Error && error.message.includes('exceeds pixel limit');
  if (fromFile) return (isTooLarge ? pictureTooLarge() : unreadablePicture()).failure;
  return { kind: 'failure', code: 'internal_error', message: 'The pass failed for a reason of the service.' };
}
