import { DocumentsFullError, DuplicateKeyError, StoreUnavailableError } from '../documents/port.ts';

/** An error as plain data, for messages between threads and processes. */
interface SerializedError {
  name: string;
  message: string;
  /** The name of the violated index, if this is a DuplicateKeyError. */
  index?: string;
}

/** The answer to a call of another thread or process: a value or an error. */
export interface CallReply {
  id: number;
  value?: unknown;
  error?: SerializedError;
}

/** The calls that wait for their answers from another thread or process. */
export class PendingCalls {
  readonly #callers = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;

  begin(): { id: number; answered: Promise<unknown> } {
    const caller = Promise.withResolvers<unknown>();
    this.#lastId += 1;
    this.#callers.set(this.#lastId, caller);
    return { id: this.#lastId, answered: caller.promise };
  }

  readonly settle = ({ id, value, error }: CallReply): void => {
    const caller = this.#callers.get(id);
    this.#callers.delete(id);
    if (error === undefined) caller?.resolve(value);
    else caller?.reject(deserializeError(error));
  };

  failAll(error: Error): void {
    for (const caller of this.#callers.values()) caller.reject(error);
    this.#callers.clear();
  }
}

export function serializeError(error: unknown): SerializedError {
  if (error instanceof DuplicateKeyError) {
    return { name: error.name, message: error.message, index: error.index };
  }
  if (error instanceof Error) return { name: error.name, message: error.message };
  return { name: 'Error', message: String(error) };
}

/**
 * Restores an error from its data. Errors of the stores get their class again. Any other error becomes an Error with
 * the same name and message.
 */
function deserializeError(serialized: SerializedError): Error {
  if (serialized.name === 'DuplicateKeyError') return new DuplicateKeyError(serialized.index ?? '');
  if (serialized.name === 'DocumentsFullError') return new DocumentsFullError(serialized.message);
  if (serialized.name === 'StoreUnavailableError') return new StoreUnavailableError(serialized.message);
  return Object.assign(new Error(serialized.message), { name: serialized.name });
}
