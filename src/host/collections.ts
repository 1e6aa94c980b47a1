import type { Clock } from '../platform/clock.ts';
import { SERVICE_SECRETS_COLLECTION } from '../platform/http/signatures.ts';
import type { CollectionSpec, DeclaredCollection, DocumentStore } from '../platform/stores/documents/port.ts';
import { ACCOUNTS_COLLECTION, API_KEYS_COLLECTION, SESSIONS_COLLECTION } from '../product/accounts/store.ts';
import { ASSET_COLLECTIONS_COLLECTION } from '../product/assets/collections.ts';
import { ASSET_QUOTA_COLLECTION } from '../product/assets/quota.ts';
import { ASSETS_COLLECTION } from '../product/assets/store.ts';
import { LEDGER_ROWS_COLLECTION, RUN_MOVEMENTS_COLLECTION } from '../product/billing/store.ts';
import { USAGE_DAYS_COLLECTION, USAGE_HOURS_COLLECTION } from '../product/billing/usage-store.ts';
import { SIGNING_KEYS_COLLECTION } from '../product/delivery/keys.ts';
import { OUTBOX_COLLECTION } from '../product/events/open.ts';
import { FEEDBACK_COLLECTION } from '../product/feedback/store.ts';
import { JOB_DEFINITIONS_COLLECTION } from '../product/jobs/definitions.ts';
import { JOB_ITEMS_COLLECTION } from '../product/jobs/items-store.ts';
import { JOBS_COLLECTION } from '../product/jobs/store.ts';
import { OP_DURATIONS_COLLECTION } from '../product/jobs/work/model.ts';
import { PRESET_VERSIONS_COLLECTION, PRESETS_COLLECTION } from '../product/presets/store.ts';
import { TEMPLATE_VERSIONS_COLLECTION, TEMPLATES_COLLECTION } from '../product/templates/store.ts';
import { DELIVERIES_COLLECTION } from '../product/webhooks/deliveries/store.ts';
import { WEBHOOK_ENDPOINTS_COLLECTION } from '../product/webhooks/endpoints/store.ts';

/**
 * All collections of documents, as declared by the stores of the slices. The primary creates their indexes, the doctor
 * compares them, and the deletion of an account uses them.
 */
export const COLLECTIONS: readonly DeclaredCollection[] = [
  ACCOUNTS_COLLECTION,
  API_KEYS_COLLECTION,
  SESSIONS_COLLECTION,
  SERVICE_SECRETS_COLLECTION,
  LEDGER_ROWS_COLLECTION,
  RUN_MOVEMENTS_COLLECTION,
  USAGE_HOURS_COLLECTION,
  USAGE_DAYS_COLLECTION,
  ASSETS_COLLECTION,
  ASSET_COLLECTIONS_COLLECTION,
  ASSET_QUOTA_COLLECTION,
  PRESETS_COLLECTION,
  PRESET_VERSIONS_COLLECTION,
  TEMPLATES_COLLECTION,
  TEMPLATE_VERSIONS_COLLECTION,
  JOBS_COLLECTION,
  JOB_DEFINITIONS_COLLECTION,
  JOB_ITEMS_COLLECTION,
  OP_DURATIONS_COLLECTION,
  OUTBOX_COLLECTION,
  SIGNING_KEYS_COLLECTION,
  WEBHOOK_ENDPOINTS_COLLECTION,
  DELIVERIES_COLLECTION,
  FEEDBACK_COLLECTION,
];

/** The time after which the build of an index is logged as slow. */
const SLOW_INDEX_BUILD_MS = 2_000;
/** The interval between repeated log lines about the same build of an index. */
const INDEX_BUILD_LOG_INTERVAL_MS = 30_000;

/**
 * Creates all collections and their indexes one by one. The index of a large collection takes minutes, so the log names
 * the index that the start waits for.
 */
export async function prepareCollections(
  documents: DocumentStore,
  specs: readonly CollectionSpec[],
  { log, clock }: { log: { info(context: object, message: string): void }; clock: Clock },
): Promise<void> {
  for (const spec of specs) {
    const startedMs = clock.elapsedMs();
    const seconds = () => Math.round((clock.elapsedMs() - startedMs) / 1_000);
    let stop = clock.after(SLOW_INDEX_BUILD_MS, function report() {
      log.info({ collection: spec.name, seconds: seconds() }, 'The start waits for indexes to be built');
      stop = clock.after(INDEX_BUILD_LOG_INTERVAL_MS, report);
    });
    try {
      await documents.prepare(spec);
    } finally {
      stop();
    }
    if (seconds() >= SLOW_INDEX_BUILD_MS / 1_000)
      log.info({ collection: spec.name, seconds: seconds() }, 'Indexes were built');
  }
}
