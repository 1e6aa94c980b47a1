import type {
  DeclaredCollection,
  DocumentCollection,
  DocumentStore,
} from '../../../platform/stores/documents/port.ts';
import { retryThroughOutages } from '../../../platform/stores/outages.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import { promptWithDescriptors, sendsSubjectPictures } from '../../catalogue/plan/subjects.ts';
import type { Providers } from '../../providers/open.ts';
import type { JobsContext } from '../context.ts';
import type { ModelSegment } from '../plan.ts';
import { ItemAbandonedError } from '../rules.ts';
import {
  type ItemCall,
  ItemFailureError,
  ItemPutBackError,
  type ReadInput,
  type SegmentResult,
} from './perform.ts';

/** Makes the function that runs a model over an item. It makes one attempt per claim of the item. */
export function createModelWork(
  { items, assets }: Pick<JobsContext, 'items' | 'assets'>,
  {
    providers,
    typicalItemSeconds,
  }: { providers: Pick<Providers, 'run'>; typicalItemSeconds: TypicalItemSeconds },
) {
  async function readReferences({ definition: { references }, job }: ItemCall, segment: ModelSegment) {
    if (!sendsSubjectPictures(segment)) return [];
    return Promise.all(references.map(async (id) => (await assets.reader.read(job.accountId, id)).bytes));
  }

  return async (call: ItemCall, segment: ModelSegment, readInput: ReadInput): Promise<SegmentResult> => {
    const { item, job, definition, signal } = call;
    const { op, model, prompt, parameters, schema } = segment;
    const startedMs = performance.now();
    const outcome = await providers.run(
      {
        op,
        model,
        parameters,
        ...withoutAbsentFields({
          prompt: prompt && promptWithDescriptors(prompt, definition.subjects),
          schema,
        }),
        pictures: async () => {
          const own = await readInput();
          return [...(own === null ? [] : [own]), ...(await readReferences(call, segment))];
        },
        itemIndex: item.index,
        attempt: item.tries + 1,
        accountId: job.accountId,
        // The item's request belongs to the segment at which this claim began. Only that segment can continue it.
        ...(segment.index === (item.progress?.segment ?? 0) &&
          withoutAbsentFields({ requestId: item.requestId })),
        async keep(requestId) {
          // The request is paid for, so storing its id is retried until the store responds.
          if (await retryThroughOutages(() => items.recordProviderRequest(item, requestId), signal)) return;
          throw new ItemAbandonedError('The claim was lost before the model was asked.');
        },
      },
      signal,
    );
    if (outcome.kind === 'busy') throw new ItemPutBackError(outcome.retryAfterMs);
    if (outcome.kind === 'failure') {
      const { code, message, retryAfterMs } = outcome;
      const retry = retryAfterMs === undefined ? { isLast: true } : { isLast: false, retryAfterMs };
      throw new ItemFailureError({ code, message, mayPass: !retry.isLast, ...retry });
    }
    // The paid answer must not be lost because its duration, which is only a statistic, cannot be stored.
    await typicalItemSeconds.record(op, model, performance.now() - startedMs).catch(() => undefined);
    return outcome;
  };
}

/** The durations of the latest items by op and model, over all accounts. */
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

const MAX_KEPT_DURATIONS = 100;
const MIN_DURATIONS_FOR_MEDIAN = 5;
const MEDIAN_REFRESH_INTERVAL_MS = 60_000;

/** The typical duration of items by op and model. Callers use it to plan how long to wait. */
export class TypicalItemSeconds {
  readonly #durations: DocumentCollection<DurationsDocument>;
  readonly #medians = new Map<string, number>();
  #refreshedMs = 0;

  private constructor(documents: DocumentStore) {
    this.#durations = documents.collection(OP_DURATIONS_COLLECTION);
  }

  static async open(documents: DocumentStore): Promise<TypicalItemSeconds> {
    const typicalSeconds = new TypicalItemSeconds(documents);
    await typicalSeconds.#refresh();
    return typicalSeconds;
  }

  async record(op: string, model: string, durationMs: number): Promise<void> {
    const lastMs = { $each: [Math.round(durationMs)], $slice: -MAX_KEPT_DURATIONS };
    await this.#durations.updateOne({ _id: `${op}/${model}` }, { $push: { lastMs } }, { upsert: true });
  }

  /**
   * The median duration in whole seconds, rounded up; undefined while too few items were measured. A value that is
   * older than a minute is still returned, and refreshed in the background.
   */
  secondsOf = (op: string, model: string): number | undefined => {
    if (performance.now() - this.#refreshedMs > MEDIAN_REFRESH_INTERVAL_MS)
      void this.#refresh().catch(() => undefined);
    return this.#medians.get(`${op}/${model}`);
  };

  /** Reads the records of all processes: one document for each op and model. */
  async #refresh(): Promise<void> {
    this.#refreshedMs = performance.now();
    for (const { _id, lastMs } of await this.#durations.find({})) {
      if (lastMs.length >= MIN_DURATIONS_FOR_MEDIAN)
        this.#medians.set(_id, Math.ceil(medianOf(lastMs) / 1_000));
    }
  }
}

function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}
