import {
  MongoBulkWriteError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoServerError,
  MongoServerSelectionError,
  MongoSystemError,
  MongoTopologyClosedError,
  MongoWriteConcernError,
} from 'mongodb';
import { DuplicateKeyError, StoreUnavailableError } from './port.ts';

const DUPLICATE_KEY = 11000;
/** IndexOptionsConflict and IndexKeySpecsConflict. */
const INDEX_CONFLICTS = [85, 86];
/** A server that stops or is no longer the primary, or that ran out of the time it was given. */
const UNAVAILABLE_CODES = [50, 91, 189, 262, 10107, 11600, 11602, 13435, 13436];

/** Runs an operation of the driver; its errors become the port's. */
export async function guard<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw translated(error);
  }
}

function translated(error: unknown): unknown {
  if (isDuplicate(error)) return new DuplicateKeyError(indexOf(error.message));
  if (isUnavailable(error)) {
    return new StoreUnavailableError(`MongoDB did not answer: ${error.message}`, { cause: error });
  }
  return error;
}

/** The positions of the documents that a unique index refused; rethrows when anything else went wrong besides. */
export function duplicatesIn(error: unknown): number[] {
  if (!(error instanceof MongoBulkWriteError)) throw error;
  const failures = Array.isArray(error.writeErrors) ? error.writeErrors : [error.writeErrors];
  if (failures.length === 0 || failures.some(({ code }) => code !== DUPLICATE_KEY)) throw error;
  return failures.map(({ index }) => index).sort((a, b) => a - b);
}

export function isIndexConflict(error: unknown): boolean {
  return error instanceof MongoServerError && INDEX_CONFLICTS.includes(Number(error.code));
}

function isDuplicate(error: unknown): error is MongoServerError {
  return error instanceof MongoServerError && error.code === DUPLICATE_KEY;
}

function isUnavailable(error: unknown): error is Error {
  if (error instanceof MongoWriteConcernError) return true;
  if (error instanceof MongoServerError) return UNAVAILABLE_CODES.includes(Number(error.code));
  // The driver keeps this one's class to itself.
  if (error instanceof Error && error.name === 'MongoWaitQueueTimeoutError') return true;
  return [
    MongoNetworkError,
    MongoServerSelectionError,
    MongoNotConnectedError,
    MongoTopologyClosedError,
    MongoSystemError,
  ].some((kind) => error instanceof kind);
}

/** "E11000 duplicate key error collection: db.items index: email dup key: …" */
function indexOf(message: string): string {
  return /index: (?:\S+\.\$)?(\S+)/.exec(message)?.[1] ?? 'unknown';
}
