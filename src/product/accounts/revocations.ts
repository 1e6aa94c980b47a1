import { setTimeout as sleep } from 'node:timers/promises';
import type { Coordination } from '../../platform/stores/coordination/port.ts';

/** The longest time for which another host may still accept a revoked credential. */
export const CREDENTIAL_CACHE_TTL_MS = 30_000;
/** The channel for the ids of accounts that were suspended, resumed, closed, or moved to another plan. */
export const ACCOUNT_CHANGED_CHANNEL = 'accounts/changed';
/** How long an admission answer may be reused. */
export const ADMISSION_CACHE_TTL_MS = 100;
/**
 * The lifetime of the flag of a changed credential. It is longer than the lifetime of any cached credential, so that
 * every process sees the flag.
 */
const REVOCATION_FLAG_TTL_MS = 2 * CREDENTIAL_CACHE_TTL_MS;

/**
 * Makes every process that uses this coordination store look up the credentials again, because they were revoked or
 * their account changed. The promise resolves after a tenth of a second, when all earlier admission answers have
 * expired.
 */
export async function invalidateCredentials(
  coordination: Coordination,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await Promise.all(ids.map((id) => coordination.setFlag(id, REVOCATION_FLAG_TTL_MS)));
  await sleep(ADMISSION_CACHE_TTL_MS);
}
