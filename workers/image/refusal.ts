import { type Failure, MAX_PIXELS } from '../protocol.ts';

/** Ends a pass with a failure that the caller can fix. It is thrown within the thread and returned as plain data. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly failure: Failure;

  constructor(failure: Omit<Failure, 'kind'>) {
    super(failure.message);
    this.failure = { kind: 'failure', ...failure };
  }
}

/** @param param relative to the pass, such as `frame` or `steps[1].params.width`. */
export function invalidArgument(param: string, message: string, details?: Record<string, unknown>): Refusal {
  return new Refusal({ code: 'invalid_param', param, message, ...(details && { details }) });
}

function unsupported(message: string): Refusal {
  return new Refusal({ code: 'unsupported_format', message });
}

export function unreadablePicture(): Refusal {
  return unsupported('The image cannot be decoded: it is damaged, cut short, or not in a supported format.');
}

export function pictureTooLarge(): Refusal {
  return unsupported(`The image has more than ${MAX_PIXELS / 1e6} megapixels, its frames counted together.`);
}

/**
 * An operation's error about one of its parameters, before the index of its step in the pass is known.
 * The pipeline turns it into a Refusal on `steps[i].params.<key>`.
 */
export class BadArgument extends Error {
  override readonly name = 'BadArgument';
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

/** The refusal of an operation's argument, by its path in the pass. @param path of the arguments, `steps[1].params`. */
export function refusedArgument(
  { key, message, details }: BadArgument,
  path: string,
  operation: DescribedOperation,
  params: object,
): Refusal {
  return invalidArgument(`${path}.${ownKey(key, operation, params)}`, message, details);
}

/**
 * The parameter to name. A size may be out of bounds through a parameter with another name; the first one sent is named
 * then.
 */
function ownKey(key: string, operation: DescribedOperation, params: object): string {
  if (key in params) return key;
  return Object.keys(params)[0] ?? (key in operation.parameters.properties ? key : '');
}
