import type { Settings } from '../../../config/index.ts';
import modelsFile from '../../../config/models.json' with { type: 'json' };
import plansFile from '../../../config/plans.json' with { type: 'json' };
import type { LinkSigner } from '../../platform/http/signatures.ts';
import type { ObjectStore } from '../../platform/stores/objects/port.ts';
import { fingerprintOf } from './deployment.ts';

/**
 * The settings that decide what a caller gets, whichever host a call reaches: all hosts of a deployment need to have
 * them alike. What fits a host to its machine and its network, such as ports, threads and timeouts, may differ.
 */
const ALIKE_SETTINGS = [
  ...['PUBLIC_URL', 'CORS_ORIGINS', 'S3_BUCKET', 'S3_ENDPOINT', 'OPERATOR_TOKEN', 'TOP_UP_URL'],
  ...['SYNC_CALLS_PER_ACCOUNT', 'JOB_DOCUMENTS_MEGABYTES', 'OUTBOUND_ALLOWED_SUBNETS', 'OUTBOUND_ALLOW_HTTP'],
  ...['SMTP_URL', 'MAIL_FROM', 'SANDBOX_MODELS', 'OPENAI_API_KEY', 'OPENAI_BASE_URL', 'GEMINI_API_KEY'],
  ...['GEMINI_BASE_URL', 'REPLICATE_API_TOKEN', 'REPLICATE_BASE_URL'],
];

/** What a primary reports about what all hosts of a deployment need to have alike. */
export interface AlikeSettings {
  /** A fingerprint of each value, by name. The values themselves may be secret, and Redis never holds them. */
  fingerprints: Record<string, string>;
  /** Whether the host finds the object that it was asked for; null if it was asked for none. */
  hasObject: boolean | null;
}

/** The fingerprints of the settings, and of the files, that all hosts of a deployment need to have alike. */
export function alikeSettingFingerprints(
  signatures: LinkSigner,
  settings: Settings,
): AlikeSettings['fingerprints'] {
  const values: Record<string, unknown> = Object.assign({}, ...Object.values(settings));
  const alike = [
    ...ALIKE_SETTINGS.map((name) => [name, values[name]] as const),
    ['config/plans.json', plansFile] as const,
    ['config/models.json', modelsFile] as const,
  ];
  return Object.fromEntries(
    alike.map(([name, value]) => [name, fingerprintOf(signatures, `setting ${name}`, JSON.stringify(value))]),
  );
}

/** Whether a store has an object; null if no key is given. */
export async function hasObject(objects: ObjectStore, key: string | null): Promise<boolean | null> {
  if (key === null) return null;
  const found = await objects.get(key);
  found?.body.destroy();
  return found !== null;
}
