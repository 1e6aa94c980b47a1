import { findOp } from '../index.ts';
import type { OpDefinition } from '../schema.ts';
import { readableQueryText } from './query-text.ts';

/** Whether a caller can wait for the op only if it is one of several steps, because the op reads a second picture. */
export function runsOnlyWithinSyncSteps(name: string): boolean {
  const op = findOp(name);
  return op?.runs === 'pass' && op.readsSecondAsset !== undefined;
}

/**
 * The synchronous call of an op as `POST /path?query`, with the image as its body. For a render, its JSON body follows.
 * Undefined for an op that runs in jobs only.
 */
export function syncCallText({
  endpoint,
  syncEndpoint,
  syncParams,
  syncExample = {},
}: OpDefinition): string | undefined {
  if (endpoint !== undefined) return `POST /api/v1${endpoint}`;
  if (syncEndpoint === undefined) return undefined;
  if (syncParams !== undefined) return `POST /api/v1${syncEndpoint} ${JSON.stringify(syncExample)}`;
  const query = readableQueryText(syncExample);
  return `POST /api/v1${syncEndpoint}${query === '' ? '' : `?${query}`}`;
}
