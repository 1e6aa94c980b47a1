import { retryThroughOutages } from '../../../platform/stores/outages.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import type { ModelSegment } from '../../catalogue/plan/plan.ts';
import { promptWithDescriptors, sendsSubjectPictures } from '../../catalogue/plan/subjects.ts';
import type { Providers } from '../../providers/open.ts';
import type { JobsContext } from '../context.ts';
import { ItemAbandonedError } from '../item-work.ts';
import {
  type ItemCall,
  ItemFailureError,
  ItemPutBackError,
  type ReadInput,
  type SegmentResult,
} from './perform.ts';
import type { TypicalItemSeconds } from './typical-seconds.ts';

/** Runs a model over an item, one try per claim. The provider says when to retry. */
export function createModelWork(
  { items, assets }: Pick<JobsContext, 'items' | 'assets'>,
  { providers, typicalSeconds }: { providers: Pick<Providers, 'run'>; typicalSeconds: TypicalItemSeconds },
) {
  async function readReferences({ definition: { references }, job }: ItemCall, segment: ModelSegment) {
    if (!sendsSubjectPictures(segment)) return [];
    return Promise.all(references.map(async (id) => (await assets.read(job.accountId, id)).bytes));
  }

  return async (call: ItemCall, segment: ModelSegment, input: ReadInput): Promise<SegmentResult> => {
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
          const own = await input();
          return [...(own === null ? [] : [own]), ...(await readReferences(call, segment))];
        },
        itemIndex: item.index,
        attempt: item.tries + 1,
        accountId: job.accountId,
        ...submittedRequest(item, segment),
        async keep(requestId) {
          // The request is paid for, so its id is stored even through store outages.
          if (await retryThroughOutages(() => items.noteRequest(item, requestId), signal)) return;
          throw new ItemAbandonedError('The claim was lost before the model was asked.');
        },
      },
      signal,
    );
    if (outcome.kind === 'busy') throw new ItemPutBackError(outcome.retryAfterMs);
    if (outcome.kind === 'failure') {
      const { code, message, retryAfterMs } = outcome;
      const again = retryAfterMs === undefined ? { isLast: true } : { isLast: false, retryAfterMs };
      throw new ItemFailureError({ code, message, mayPass: !again.isLast, ...again });
    }
    // This is only a statistic. If writing fails, the paid answer must not be lost.
    await typicalSeconds.took(op, model, performance.now() - startedMs).catch(() => undefined);
    return outcome;
  };
}

/** The id of a stored provider request. It belongs to the segment with which the claim began, not to later segments. */
function submittedRequest(
  { requestId, progress }: ItemCall['item'],
  { index }: ModelSegment,
): { requestId?: string } {
  if (requestId === undefined || index !== (progress?.segment ?? 0)) return {};
  return { requestId };
}
