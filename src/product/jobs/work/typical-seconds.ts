import type {
  DeclaredCollection,
  DocumentCollection,
  DocumentStore,
} from '../../../platform/stores/documents/port.ts';

/** Durations of the last items of an op on a model, over all accounts. */
interface DurationsDocument {
  /** `<op>/<model>` */
  _id: string;
  lastMs: number[];
}

export const OP_DURATIONS_COLLECTION: DeclaredCollection = {
  name: 'opDurations',
  indexes: [],
  onAccountDeletion: 'keep',
};

const MAX_DURATIONS = 100;
const MIN_SAMPLES = 5;
const FRESH_MS = 60_000;

/** The typical duration of items of an op on a model, for callers who plan their waits. */
export class TypicalItemSeconds {
  readonly #durations: DocumentCollection<DurationsDocument>;
  readonly #medians = new Map<string, number>();
  #readMs = 0;

  private constructor(durations: DocumentCollection<DurationsDocument>) {
    this.#durations = durations;
  }

  static async open(documents: DocumentStore): Promise<TypicalItemSeconds> {
    const typicalSeconds = new TypicalItemSeconds(await documents.collection(OP_DURATIONS_COLLECTION));
    await typicalSeconds.#refresh();
    return typicalSeconds;
  }

  /** Records a completed item. */
  async took(op: string, model: string, durationMs: number): Promise<void> {
    const lastMs = { $each: [Math.round(durationMs)], $slice: -MAX_DURATIONS };
    await this.#durations.updateOne({ _id: `${op}/${model}` }, { $push: { lastMs } }, { upsert: true });
  }

  /**
   * The median in whole seconds, rounded up; undefined while too few are measured. It is at most a minute, or a call,
   * old.
   */
  of = (op: string, model: string): number | undefined => {
    if (performance.now() - this.#readMs > FRESH_MS) void this.#refresh().catch(() => undefined);
    return this.#medians.get(`${op}/${model}`);
  };

  /** Reads the records of all processes: one document for each op and model. */
  async #refresh(): Promise<void> {
    this.#readMs = performance.now();
    for (const { _id, lastMs } of await this.#durations.find({})) {
      if (lastMs.length >= MIN_SAMPLES) this.#medians.set(_id, Math.ceil(medianOf(lastMs) / 1_000));
    }
  }
}

function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}
