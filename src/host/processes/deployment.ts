import type { Settings } from '../../../config/index.ts';
import modelsFile from '../../../config/models.json' with { type: 'json' };
import plansFile from '../../../config/plans.json' with { type: 'json' };
import type { LinkSigner } from '../../platform/http/signatures.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import type { ObjectStore } from '../../platform/stores/objects/port.ts';
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
function fingerprintOf(signatures: LinkSigner, purpose: string, value: string): string {
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

/**
 * The settings that decide what a caller gets, whichever host a call reaches: all hosts of a deployment need the same
 * values. What fits a host to its machine and its network, such as ports, threads and timeouts, may differ.
 */
const DEPLOYMENT_WIDE_SETTINGS = [
  ...['PUBLIC_URL', 'CORS_ORIGINS', 'S3_BUCKET', 'S3_ENDPOINT', 'OPERATOR_TOKEN', 'TOP_UP_URL'],
  ...['SYNC_CALLS_PER_ACCOUNT', 'JOB_DOCUMENTS_MEGABYTES', 'OUTBOUND_ALLOWED_SUBNETS', 'OUTBOUND_ALLOW_HTTP'],
  ...['SMTP_URL', 'MAIL_FROM', 'SANDBOX_MODELS', 'OPENAI_API_KEY', 'OPENAI_BASE_URL', 'GEMINI_API_KEY'],
  ...['GEMINI_BASE_URL', 'REPLICATE_API_TOKEN', 'REPLICATE_BASE_URL'],
];

/** What a primary reports about what all hosts of a deployment must share. */
export interface DeploymentReport {
  /** A fingerprint of each value, by name. The values themselves may be secret, and Redis never holds them. */
  fingerprints: Record<string, string>;
  /** Whether the host finds the object that it was asked for; null if it was asked for none. */
  hasObject: boolean | null;
}

/** The fingerprints of the settings, and of the files, that all hosts of a deployment must share. */
export function deploymentSettingFingerprints(
  signatures: LinkSigner,
  settings: Settings,
): DeploymentReport['fingerprints'] {
  const values: Record<string, unknown> = Object.assign({}, ...Object.values(settings));
  const shared = [
    ...DEPLOYMENT_WIDE_SETTINGS.map((name) => [name, values[name]] as const),
    ['config/plans.json', plansFile] as const,
    ['config/models.json', modelsFile] as const,
  ];
  return Object.fromEntries(
    shared.map(([name, value]) => [
      name,
      fingerprintOf(signatures, `setting ${name}`, JSON.stringify(value)),
    ]),
  );
}

/** Whether a store has an object; null if no key is given. */
export async function hasObject(objects: ObjectStore, key: string | null): Promise<boolean | null> {
  if (key === null) return null;
  const found = await objects.get(key);
  found?.body.destroy();
  return found !== null;
}
