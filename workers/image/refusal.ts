import { MAX_PIXELS, type SearchDetails, type TaskFailure } from '../protocol.ts';

/** Ends a pass with a failure that the caller can fix. It is thrown within the thread and returned as plain data. */
export class PassRefusal extends Error {
  override readonly name = 'PassRefusal';
  readonly failure: TaskFailure;

  constructor(failure: Omit<TaskFailure, 'kind'>) {
    super(failure.message);
    this.failure = { kind: 'failure', ...failure };
  }
}

/**
 * A refusal of a parameter with the code `invalid_param`.
 * @param param relative to the pass, such as `frame` or `steps[1].params.width`.
 */
export function invalidParamRefusal(
  param: string,
  message: string,
  details?: Record<string, unknown>,
): PassRefusal {
  return new PassRefusal({ code: 'invalid_param', param, message, ...(details && { details }) });
}

function unsupportedFormatRefusal(message: string): PassRefusal {
  return new PassRefusal({ code: 'unsupported_format', message });
}

export function unreadablePictureRefusal(): PassRefusal {
  return unsupportedFormatRefusal(
    'The image cannot be decoded: it is damaged, cut short, or not in a supported format.',
  );
}

export function pictureTooLargeRefusal(): PassRefusal {
  return unsupportedFormatRefusal(
    `The image has more than ${MAX_PIXELS / 1e6} megapixels, its frames counted together.`,
  );
}

/**
 * An operation's error about one of its parameters, before the index of its step in the pass is known. The pipeline
 * turns it into a `PassRefusal` on `steps[i].params.<key>`.
 */
export class BadArgumentError extends Error {
  override readonly name = 'BadArgumentError';
  readonly key: string;
  readonly details: Record<string, unknown> | undefined;

  constructor(key: string, message: string, details?: Record<string, unknown>) {
    super(message);
    this.key = key;
    this.details = details;
  }
}

/** An operation, with the schema of its arguments. */
interface DescribedOperation {
  parameters: { properties: object };
}

/**
 * The refusal of a wrong argument of an operation. It names the argument by its path, such as `steps[1].params.width`.
 * @param path of the arguments, such as `steps[1].params`.
 */
export function argumentRefusal(
  { key, message, details }: BadArgumentError,
  path: string,
  operation: DescribedOperation,
  params: object,
): PassRefusal {
  return invalidParamRefusal(`${path}.${parameterToReport(key, operation, params)}`, message, details);
}

/**
 * The name of the parameter to report. A size may be out of bounds because of parameters with other names. The first
 * parameter that was sent is then named.
 */
function parameterToReport(key: string, operation: DescribedOperation, params: object): string {
  if (key in params) return key;
  return Object.keys(params)[0] ?? (key in operation.parameters.properties ? key : '');
}

/** The deadline of a task has passed, so that nobody waits for the answer any more. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
  /** The details of a search that the deadline ended; absent if no file was written. */
  readonly details: SearchDetails | undefined;
  /** The share of the work for which there was time: see `TaskFailure`. */
  readonly doableShare: number | undefined;

  constructor(details?: SearchDetails, doableShare?: number) {
    super();
    this.details = details;
    this.doableShare = doableShare;
  }
}

/** @throws DeadlineError when the deadline has passed. */
export function secondsLeft(deadlineMs: number): number {
  const leftMs = deadlineMs - Date.now();
  if (leftMs <= 0) throw new DeadlineError();
  return Math.min(3600, Math.ceil(leftMs / 1000));
}

/** sharp's message about an argument: "Expected number between 0.3 and 1000 for sigma but received …". */
const SHARP_ARGUMENT_ERROR = /^Expected (.+) for (?:options\.)?(\w+)/;

/**
 * Turns an error about an argument into a refusal that names the path of the argument; returns any other error
 * unchanged.
 */
export function asArgumentRefusal(
  error: unknown,
  path: string,
  operation: DescribedOperation,
  params: object,
): unknown {
  if (error instanceof BadArgumentError) return argumentRefusal(error, path, operation, params);
  const [, expected, key] = (error instanceof Error && SHARP_ARGUMENT_ERROR.exec(error.message)) || [];
  if (key === undefined) return error;
  return invalidParamRefusal(`${path}.${key}`, `${key} does not fit: ${expected} is expected.`);
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
    return invalidParamRefusal(error.key, error.message, error.details).failure;
  if (isDeadlineError(error)) {
    const { details, doableShare } = error instanceof DeadlineError ? error : new DeadlineError();
    return {
      kind: 'failure',
      code: 'internal_error',
      message: 'The pass was not done by its deadline.',
      details: { reason: 'deadline_exceeded', ...details },
      ...(doableShare !== undefined && { doableShare }),
    };
  }
  const isTooLarge = error instanceof Error && error.message.includes('exceeds pixel limit');
  if (fromFile) return (isTooLarge ? pictureTooLargeRefusal() : unreadablePictureRefusal()).failure;
  return { kind: 'failure', code: 'internal_error', message: 'The pass failed for a reason of the service.' };
}
