import type { Clock } from '../../clock/clock.ts';
import type { CollectionSpec, Documents } from './port.ts';

/** The interval at which a slow build of an index is logged. */
const SLOW_MS = 2_000;
const REPEATED_MS = 30_000;

interface PreparationOptions {
  log: { info(context: object, message: string): void };
  clock: Clock;
}

/**
 * Creates all collections and their indexes in sequence. The index of a large collection takes minutes, and the log
 * names the one that the start waits for.
 */
export async function prepareCollections(
  documents: Documents,
  specs: readonly CollectionSpec[],
  { log, clock }: PreparationOptions,
): Promise<void> {
  for (const spec of specs) {
    const startedMs = clock.elapsedMs();
    const seconds = () => Math.round((clock.elapsedMs() - startedMs) / 1_000);
    const say = () =>
      log.info({ collection: spec.name, seconds: seconds() }, 'The start waits for indexes to be built');
    let stop = clock.after(SLOW_MS, function tell() {
      say();
      stop = clock.after(REPEATED_MS, tell);
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
