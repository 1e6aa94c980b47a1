import { ACCOUNTS, API_KEYS, SESSIONS } from './accounts/store.ts';
import { ASSET_COLLECTIONS } from './assets/collections/collections.ts';
import { ASSET_QUOTA } from './assets/quota/asset-quota.ts';
import { ASSETS } from './assets/store.ts';
import { LEDGER_ROWS, RUN_MOVEMENTS } from './billing/store.ts';
import { USAGE_DAYS, USAGE_HOURS } from './billing/usage-store.ts';
import { OUTBOX } from './events/outbox.ts';
import { FEEDBACK } from './feedback/store.ts';
import { SERVICE_SECRETS } from './http/signatures.ts';
import { JOB_ITEMS } from './jobs/item-indexes.ts';
import { JOB_DEFINITIONS, JOBS } from './jobs/store.ts';
import { OP_DURATIONS } from './jobs/work/typical-seconds.ts';
import { PRESET_VERSIONS, PRESETS } from './presets/store.ts';
import type { DeclaredCollection } from './stores/documents/port.ts';
import { TEMPLATE_VERSIONS, TEMPLATES } from './templates/store.ts';
import { DELIVERIES } from './webhooks/deliveries/store.ts';
import { ENDPOINTS } from './webhooks/endpoints/store.ts';

/**
 * Every collection of documents that the slices have, as its store declares it. The primary makes their indexes, the
 * doctor compares them, and the deletion of an account goes through them.
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
  ENDPOINTS,
  DELIVERIES,
  FEEDBACK,
];
