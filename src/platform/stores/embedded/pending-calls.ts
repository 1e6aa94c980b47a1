import { DuplicateKeyError, StoreUnavailableError } from '../documents/port.ts';

/** An error as plain data, for messages between threads and processes. */
interface SerializedError {
  name: string;
  message: string;
  /** The index of a DuplicateKeyError. */
  index?: string;
}

/** The answer to a call of another thread or process: a value or an error. */
export interface CallReply {
  id: number;
  value?: unknown;
  error?: SerializedError;
}

/** The calls that wait for their answers from another thread or process. */
interface PendingCalls {
  begin(): { id: number; answered: Promise<unknown> };
  settle(answer: CallReply): void;
  failAll(error: Error): void;
}

export function createPendingCalls(): PendingCalls {
  const callers = new Map<number, PromiseWithResolvers<unknown>>();
  let lastId = 0;
  return {
    begin() {
      const caller = Promise.withResolvers<unknown>();
      lastId += 1;
      callers.set(lastId, caller);
      return { id: lastId, answered: caller.promise };
    },
    settle({ id, value, error }) {
      const caller = callers.get(id);
      callers.delete(id);
      if (error === undefined) caller?.resolve(value);
      else caller?.reject(deserializeError(error));
    },
    failAll(error) {
      for (const caller of callers.values()) caller.reject(error);
      callers.clear();
    },
  };
}

export function serializeError(error: unknown): SerializedError {
  if (error instanceof DuplicateKeyError) {
    return { name: error.name, message: error.message, index: error.index };
  }
  return error instanceof Error
    ? { name: error.name, message: error.message }
    : { name: 'Error', message: String(error) };
}

/** Restores an error: those of the store with their class, any other as an Error with the same name and message. */
function deserializeError(serialized: SerializedError): Error {
  if (serialized.name === 'DuplicateKeyError') return new DuplicateKeyError(serialized.index ?? '');
  if (serialized.name === 'StoreUnavailableError') return new StoreUnavailableError(serialized.message);
  return Object.assign(new Error(serialized.message), { name: serialized.name });
}
