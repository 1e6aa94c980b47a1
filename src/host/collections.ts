import { SERVICE_SECRETS } from '../platform/http/signatures.ts';
import type { DeclaredCollection } from '../platform/stores/documents/port.ts';
import { ACCOUNTS, API_KEYS, SESSIONS } from '../product/accounts/store.ts';
import { ASSET_QUOTA } from '../product/assets/asset-quota.ts';
import { ASSET_COLLECTIONS } from '../product/assets/collections.ts';
import { ASSETS } from '../product/assets/store.ts';
import { LEDGER_ROWS, RUN_MOVEMENTS } from '../product/billing/store.ts';
import { USAGE_DAYS, USAGE_HOURS } from '../product/billing/usage-store.ts';
import { SIGNING_KEYS } from '../product/delivery/keys/store.ts';
import { OUTBOX } from '../product/events/open.ts';
import { FEEDBACK } from '../product/feedback/store.ts';
import { JOB_ITEMS } from '../product/jobs/items-store.ts';
import { JOB_DEFINITIONS, JOBS } from '../product/jobs/store.ts';
import { OP_DURATIONS } from '../product/jobs/work/typical-seconds.ts';
import { PRESET_VERSIONS, PRESETS } from '../product/presets/store.ts';
import { TEMPLATE_VERSIONS, TEMPLATES } from '../product/templates/store.ts';
import { DELIVERIES } from '../product/webhooks/deliveries/store.ts';
import { ENDPOINTS } from '../product/webhooks/endpoints/store.ts';

/**
 * All collections of documents, as declared by the stores of the slices. The primary creates their indexes, the doctor
 * compares them, and the deletion of an account uses them.
 */
export const COLLECTIONS: readonly DeclaredCollection[] = [
  ACCOUNTS,
  API_KEYS,
  SESSIONS,
  SERVICE_SECRETS,
  LEDGER_ROWS,
  RUN_MOVEMENTS,
  USAGE_HOURS,
  USAGE_DAYS,
  ASSETS,
  ASSET_COLLECTIONS,
  ASSET_QUOTA,
  PRESETS,
  PRESET_VERSIONS,
  TEMPLATES,
  TEMPLATE_VERSIONS,
  JOBS,
  JOB_DEFINITIONS,
  JOB_ITEMS,
  OP_DURATIONS,
  OUTBOX,
  SIGNING_KEYS,
  ENDPOINTS,
  DELIVERIES,
  FEEDBACK,
];
