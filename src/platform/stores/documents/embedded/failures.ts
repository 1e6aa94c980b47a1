import { DocumentsFullError, StoreUnavailableError } from '../port.ts';

/** The messages of SQLite, and of the thread, for a disk without room. */
const FULL_DISK_MESSAGE_PATTERN = /disk (?:is|may be) full/;

export function isFullDisk(message: string): boolean {
  return FULL_DISK_MESSAGE_PATTERN.test(message);
}

/** The error for documents that SQLite could not write. */
export function unwrittenError(message: string): StoreUnavailableError {
  return isFullDisk(message) ? new DocumentsFullError(message) : new StoreUnavailableError(message);
}
