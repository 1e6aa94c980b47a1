import type { DeclaredCollection, Documents } from '../../../platform/stores/documents/port.ts';

/** Durations of the last items of an op on a model, over all accounts. */
interface DurationsDocument {
  /** `<op>/<model>` */
  _id: string;
  lastMs: number[];
}

export const OP_DURATIONS: DeclaredCollection = {
  name: 'opDurations',
  indexes: [],
  onAccountDeletion: 'keep',
};

const REMEMBERED = 100;
const MIN_SAMPLES = 5;
const FRESH_MS = 60_000;

/** The typical duration of items of an op on a model, for callers who plan their waits. */
export interface TypicalSeconds {
  /** Records a completed item. */
  took(op: string, model: string, durationMs: number): Promise<void>;
  /** The median, in whole seconds rounded up; undefined while too few are known. At most a minute old, or a call. */
  of(op: string, model: string): number | undefined;
}

export async function openTypicalSeconds(documents: Documents): Promise<TypicalSeconds> {
  const durations = await documents.collection<DurationsDocument>(OP_DURATIONS);
  const medians = new Map<string, number>();
  let readMs = 0;

  /** Reads the records of all processes: one document for each op and model. */
  async function refresh(): Promise<void> {
    readMs = performance.now();
    for (const { _id, lastMs } of await durations.find({})) {
      if (lastMs.length >= MIN_SAMPLES) medians.set(_id, Math.ceil(medianOf(lastMs) / 1_000));
    }
  }
  await refresh();

  return {
    async took(op, model, durationMs) {
      const lastMs = { $each: [Math.round(durationMs)], $slice: -REMEMBERED };
      await durations.updateOne({ _id: `${op}/${model}` }, { $push: { lastMs } }, { upsert: true });
    },

    of(op, model) {
      if (performance.now() - readMs > FRESH_MS) void refresh().catch(() => undefined);
      return medians.get(`${op}/${model}`);
    },
  };
}

function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}
