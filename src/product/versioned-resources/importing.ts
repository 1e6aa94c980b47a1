import { setImmediate as letOthersIn } from 'node:timers/promises';
import { ApiError } from '../../platform/http/errors/errors.ts';
import { type ResourceKind, tooManyEntriesError } from './documents.ts';

/** An entry of an import that was refused, with its index as sent. */
export interface RefusedImportEntry {
  index: number;
  error: ApiError;
}

/**
 * Refuses an import of more than ten times the entries that an account may have. Many entries may be refused, but their
 * number is limited.
 * @throws ApiError resource_limit_exceeded.
 */
export function checkImportEntryCount({ limit }: ResourceKind, count: number): void {
  if (count > 10 * limit) throw tooManyEntriesError(10 * limit, count);
}

/**
 * Divides entries, each with its index as sent, into those that `check` accepts and those that it refuses. The event
 * loop serves other calls between two entries.
 */
export async function partitionEntries<E, T>(
  entries: Iterable<[number, E]>,
  check: (entry: E) => T | Promise<T>,
): Promise<{ accepted: [number, T][]; refused: RefusedImportEntry[] }> {
  const accepted: [number, T][] = [];
  const refused: RefusedImportEntry[] = [];
  for (const [index, entry] of entries) {
    try {
      accepted.push([index, await check(entry)]);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error;
      refused.push({ index, error });
    }
    await letOthersIn();
  }
  return { accepted, refused };
}
