import { DuplicateKeyError, StoreUnavailableError } from '../documents/port.ts';

/** An error as plain data, for messages between threads and processes. */
export interface CrossingError {
  name: string;
  message: string;
  /** The index of a DuplicateKeyError. */
  index?: string;
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
