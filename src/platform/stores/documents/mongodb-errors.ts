import {
  MongoBulkWriteError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoServerError,
  MongoServerSelectionError,
  MongoSystemError,
  MongoTopologyClosedError,
  MongoWriteConcernError,
  type WriteError,
} from 'mongodb';
import { DuplicateKeyError, type IndexSpec, StoreUnavailableError } from './port.ts';

export const DUPLICATE_KEY_CODE = 11000;
/** The codes of IndexOptionsConflict and IndexKeySpecsConflict. */
const INDEX_CONFLICT_CODES = [85, 86];
/** Codes of a server that is stopping, is no longer the primary, or exceeded its time limit. */
const UNAVAILABLE_CODES = [50, 91, 189, 262, 10107, 11600, 11602, 13435, 13436];

/**
 * Runs an operation of the driver and converts its errors to the errors that every document store throws. `indexes` are
 * the indexes of its collection, if it has one.
 */
export async function withStoreErrors<T>(
  run: () => Promise<T>,
  indexes: readonly IndexSpec[] = [],
): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw storeErrorOf(bulkWriteCause(error), indexes);
  }
}

/**
 * The cause of a failed bulk write. If no document was refused, the write failed as a whole, in most cases because of a
 * broken connection.
 */
function bulkWriteCause(error: unknown): unknown {
  if (!(error instanceof MongoBulkWriteError) || writeErrorsOf(error).length > 0) return error;
  return error.errorResponse instanceof Error ? error.errorResponse : error;
}

function writeErrorsOf({ writeErrors }: MongoBulkWriteError): WriteError[] {
  return [writeErrors].flat();
}

function storeErrorOf(error: unknown, indexes: readonly IndexSpec[]): unknown {
  if (error instanceof MongoServerError && error.code === DUPLICATE_KEY_CODE)
    return new DuplicateKeyError(violatedIndexOf(error, indexes));
  if (isUnavailable(error)) {
    return new StoreUnavailableError(`MongoDB did not answer: ${error.message}`, { cause: error });
  }
  return error;
}

/** The positions of the documents that a unique index refused; rethrows any other error. */
export function duplicatePositionsIn(error: unknown): number[] {
  if (!(error instanceof MongoBulkWriteError)) throw error;
  const failures = writeErrorsOf(error);
  if (failures.length === 0 || failures.some(({ code }) => code !== DUPLICATE_KEY_CODE)) throw error;
  return failures.map(({ index }) => index).sort((a, b) => a - b);
}

export function isIndexConflict(error: unknown): boolean {
  return error instanceof MongoServerError && INDEX_CONFLICT_CODES.includes(Number(error.code));
}

const UNAVAILABLE_ERROR_CLASSES = [
  MongoNetworkError,
  MongoNotConnectedError,
  MongoServerSelectionError,
  MongoSystemError,
  MongoTopologyClosedError,
  MongoWriteConcernError,
];

function isUnavailable(error: unknown): error is Error {
  if (UNAVAILABLE_ERROR_CLASSES.some((kind) => error instanceof kind)) return true;
  if (error instanceof MongoServerError) return UNAVAILABLE_CODES.includes(Number(error.code));
  // The name is compared, because the driver does not export the class of this error.
  return error instanceof Error && error.name === 'MongoWaitQueueTimeoutError';
}

/**
 * The index that refused a write. A server of MongoDB 4.4 or later names its fields. For older servers it is found in
 * the message, "E11000 duplicate key error collection: db.items index: email dup key: …".
 */
function violatedIndexOf(error: MongoServerError, indexes: readonly IndexSpec[]): string {
  const { keyPattern } = error.errorResponse as { keyPattern?: Record<string, unknown> };
  const named = keyPattern && indexNameOf(Object.keys(keyPattern), indexes);
  return named ?? /index: (?:\S+\.\$)?(\S+)/.exec(error.message)?.[1] ?? 'unknown';
}

function indexNameOf(fields: readonly string[], indexes: readonly IndexSpec[]): string | undefined {
  if (fields.join() === '_id') return '_id_';
  return indexes.find((index) => index.fields.map(([field]) => field).join() === fields.join())?.name;
}
