import { DuplicateKeyError, StoreUnavailableError } from '../documents/port.ts';

/** An error as plain data, for messages between threads and processes. */
export interface CrossingError {
  name: string;
  message: string;
  /** The index of a DuplicateKeyError. */
  index?: string;
}

/** The answer to a call of another thread or process: a value or an error. */
export interface Answer {
  id: number;
  value?: unknown;
  error?: CrossingError;
}

/** The calls that wait for their answers from another thread or process. */
interface PendingCalls {
  begin(): { id: number; answered: Promise<unknown> };
  settle(answer: Answer): void;
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
      else caller?.reject(unpackError(error));
    },
    failAll(error) {
      for (const caller of callers.values()) caller.reject(error);
      callers.clear();
    },
  };
}

export function packError(error: unknown): CrossingError {
  if (error instanceof DuplicateKeyError) {
    return { name: error.name, message: error.message, index: error.index };
  }
  return error instanceof Error
    ? { name: error.name, message: error.message }
    : { name: 'Error', message: String(error) };
}

/** Restores an error: those of the store with their class, any other as an Error with the same name and message. */
export function unpackError(crossed: CrossingError): Error {
  if (crossed.name === 'DuplicateKeyError') return new DuplicateKeyError(crossed.index ?? '');
  if (crossed.name === 'StoreUnavailableError') return new StoreUnavailableError(crossed.message);
  return Object.assign(new Error(crossed.message), { name: crossed.name });
}
