import type { Clock } from '../../clock.ts';
import type { CollectionSpec, DocumentStore } from './port.ts';

/** A build of an index that takes longer is logged. */
const SLOW_MS = 2_000;
/** The interval between repeated log lines about the same build of an index. */
const REPEATED_MS = 30_000;

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
    let stop = clock.after(SLOW_MS, function report() {
      log.info({ collection: spec.name, seconds: seconds() }, 'The start waits for indexes to be built');
      stop = clock.after(REPEATED_MS, report);
    });
    try {
      await documents.collection(spec);
    } finally {
      stop();
    }
    if (seconds() >= SLOW_MS / 1_000)
      log.info({ collection: spec.name, seconds: seconds() }, 'Indexes were built');
  }
}
