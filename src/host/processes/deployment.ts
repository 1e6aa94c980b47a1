import type { LinkSigner } from '../../platform/http/signatures.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import { type StoresSettings, storeAddressesOf } from '../../platform/stores/open.ts';
import { MINUTE_MS } from '../../platform/values/units.ts';

/**
 * How long a deployment's mark stays in Redis after the primaries last renewed it. Once it has expired, another
 * deployment may use the prefix.
 */
const DEPLOYMENT_MARK_LIFE_MS = 10 * MINUTE_MS;
const MARK_RENEWAL_INTERVAL_MS = MINUTE_MS;
const FINGERPRINT_CHARACTERS = 16;

/**
 * Identifies the documents of a deployment by their signing key and the name of their database. A copy of the documents
 * in another database counts as another deployment.
 */
export function deploymentFingerprint(signatures: LinkSigner, settings: StoresSettings): string {
  const database = storeAddressesOf(settings).documents.split('/').at(-1) ?? '';
  return fingerprintOf(signatures, 'deployment', database);
}

/** A short text that is the same for equal values of one deployment, and does not reveal them. */
export function fingerprintOf(signatures: LinkSigner, purpose: string, value: string): string {
  const signed = new URLSearchParams(signatures.sign(purpose, value, new Date(0)));
  return (signed.get('signature') ?? '').slice(0, FINGERPRINT_CHARACTERS);
}

/** The advice for a deployment that meets another deployment on its Redis. */
export const SEPARATION_ADVICE =
  'Set REDIS_PREFIX to a different name, or name another database number in REDIS_URL: otherwise commands and wake-ups of one reach the other.';

/**
 * Keeps the mark of this deployment under its prefix on Redis, so that another deployment with the same prefix is
 * refused. If Redis loses the mark, it is written again within a minute.
 * @throws Error with one sentence when another deployment holds the prefix.
 */
export async function holdRedisPrefix(
  coordination: Pick<Coordination, 'lease'>,
  { mark, prefix, log }: { mark: string; prefix: string; log: { error(message: string): void } },
): Promise<void> {
  const hold = () => coordination.lease('deployment', mark, DEPLOYMENT_MARK_LIFE_MS);
  const conflictMessage = `Another deployment, with other documents, uses this Redis with the prefix ${prefix}.`;
  if (!(await hold()))
    throw new Error(
      `${conflictMessage} ${SEPARATION_ADVICE} If the other one has ended for good, its mark expires ${DEPLOYMENT_MARK_LIFE_MS / MINUTE_MS} minutes after it.`,
    );
  const renew = async () => {
    if (!(await hold())) log.error(`${conflictMessage} ${SEPARATION_ADVICE}`);
  };
  // While Redis cannot be reached, the mark cannot be renewed. The next round tries again.
  setInterval(() => void renew().catch(() => undefined), MARK_RENEWAL_INTERVAL_MS).unref();
}
