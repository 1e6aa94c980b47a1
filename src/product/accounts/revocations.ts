import { setTimeout as sleep } from 'node:timers/promises';
import type { Coordination } from '../../platform/stores/coordination/port.ts';

/** How long another host may go on accepting a credential that was revoked. */
export const CREDENTIAL_CACHE_MS = 30_000;
/** How long a process goes by the last word of coordination about a caller. */
export const ADMISSION_TTL_MS = 100;
/** The mark of a credential outlives every cache, so that it is looked up again wherever the mark is seen. */
const MARK_MS = 2 * CREDENTIAL_CACHE_MS;

/**
 * Has every process that shares this coordination look these credentials up again: they were revoked, or their account
 * changed. It costs a tenth of a second: once it resolves, whoever was told before the marks stood asks again.
 */
export async function invalidateCredentials(
  coordination: Coordination,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await Promise.all(ids.map((id) => coordination.mark(id, MARK_MS)));
  await sleep(ADMISSION_TTL_MS);
}
