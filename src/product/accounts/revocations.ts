import { setTimeout as sleep } from 'node:timers/promises';
import type { Coordination } from '../../platform/stores/coordination/port.ts';

/** How long another host may go on accepting a revoked credential. */
export const CREDENTIAL_CACHE_MS = 30_000;
/** The channel on which the id of an account is announced that was suspended, resumed, closed, or got another plan. */
export const ACCOUNT_CHANGED = 'accounts/changed';
/** How long an admission answer may be reused. */
export const ADMISSION_TTL_MS = 100;
/**
 * The lifetime of a credential's flag. It exceeds every cache, so that the credential is looked up again wherever the
 * flag is read.
 */
const FLAG_MS = 2 * CREDENTIAL_CACHE_MS;

/**
 * Makes every process that shares this coordination look these credentials up again, because they were revoked or their
 * account changed. It takes a tenth of a second: once it resolves, every admission answer from before the flags has
 * expired.
 */
export async function invalidateCredentials(
  coordination: Coordination,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await Promise.all(ids.map((id) => coordination.setFlag(id, FLAG_MS)));
  await sleep(ADMISSION_TTL_MS);
}
