import { MAX_PIXELS, type TaskFailure } from '../protocol.ts';

/** Ends a pass with a failure that the caller can fix. It is thrown within the thread and returned as plain data. */
export class PassRefusal extends Error {
  override readonly name = 'PassRefusal';
  readonly failure: TaskFailure;

  constructor(failure: Omit<TaskFailure, 'kind'>) {
    super(failure.message);
    this.failure = { kind: 'failure', ...failure };
  }
}

/** @param param relative to the pass, such as `frame` or `steps[1].params.width`. */
export function invalidArgument(
  param: string,
  message: string,
  details?: Record<string, unknown>,
): PassRefusal {
  return new PassRefusal({ code: 'invalid_param', param, message, ...(details && { details }) });
}

function unsupported(message: string): PassRefusal {
  return new PassRefusal({ code: 'unsupported_format', message });
}

export function unreadablePicture(): PassRefusal {
  return unsupported('The image cannot be decoded: it is damaged, cut short, or not in a supported format.');
}

export function pictureTooLarge(): PassRefusal {
  return unsupported(`The image has more than ${MAX_PIXELS / 1e6} megapixels, its frames counted together.`);
}

/**
 * An operation's error about one of its parameters, before the index of its step in the pass is known.
 * The pipeline turns it into a Refusal on `steps[i].params.<key>`.
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
  return invalidArgument(`${path}.${ownKey(key, operation, params)}`, message, details);
}

/**
 * The name of the parameter to report. A size may be out of bounds because of a parameter with another name; then the
 * first such parameter that was sent is named.
 */
function ownKey(key: string, operation: DescribedOperation, params: object): string {
  if (key in params) return key;
  return Object.keys(params)[0] ?? (key in operation.parameters.properties ? key : '');
}
