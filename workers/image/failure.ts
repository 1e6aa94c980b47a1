import type { Failure, SearchDetails } from '../protocol.ts';
import type { StepOperation } from './operations/index.ts';
import {
  BadArgument,
  invalidArgument,
  pictureTooLarge,
  Refusal,
  refusedArgument,
  unreadablePicture,
} from './refusal.ts';

/** Nobody waits for the answer any more. */
export class TooLate extends Error {
  override readonly name = 'TooLate';
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
export function argumentFailure(
  error: unknown,
  path: string,
  operation: StepOperation,
  params: object,
): unknown {
  if (error instanceof BadArgument) return refusedArgument(error, path, operation, params);
  const [, expected, key] = (error instanceof Error && SHARP_ARGUMENT.exec(error.message)) || [];
  return key === undefined
    ? error
    : invalidArgument(`${path}.${key}`, `${key} does not fit: ${expected} is expected.`);
}

/** Whether a pipeline or a search ended because nobody waits for its answer any more. */
export function isLate(error: unknown): boolean {
  return error instanceof TooLate || (error instanceof Error && error.message.startsWith('timeout:'));
}

/**
 * Any error of a pass as plain data.
 * @param fromFile whether the failed pipeline read the file. The file is then at fault, because all else has been
 * checked.
 */
export function failureOf(error: unknown, fromFile: boolean): Failure {
  if (error instanceof Refusal) return error.failure;
  // Outside of the steps, the parameters of the pass itself are at fault.
  if (error instanceof BadArgument) return invalidArgument(error.key, error.message, error.details).failure;
  if (isLate(error)) {
    return {
      kind: 'failure',
      code: 'internal_error',
      message: 'The pass was not done by its deadline.',
      details: { reason: 'deadline_exceeded', ...(error instanceof TooLate && error.details) },
    };
  }
  const isTooLarge = error instanceof Error && error.message.includes('exceeds pixel limit');
  if (fromFile) return (isTooLarge ? pictureTooLarge() : unreadablePicture()).failure;
  return { kind: 'failure', code: 'internal_error', message: 'The pass failed for a reason of the service.' };
}
