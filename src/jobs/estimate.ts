import type { Holds } from '../billing/holds.ts';
import type { JobEstimate } from './schema.ts';
import type { Order } from './submit/order.ts';
import { creditsOf } from './work/definition.ts';

/** What a submit would cost and find, without making anything. */
export async function estimateOf(
  accountId: string,
  order: Order,
  { holds, assetCountLeft }: { holds: Holds; assetCountLeft: number },
): Promise<JobEstimate> {
  const { head, definition, totalItems, need, warnings } = order;
  const outlook = await holds.outlook(accountId, need);
  const { variants } = definition;
  const isChain = (variants[0]?.segments.length ?? 0) > 1;
  return {
    type: head.type,
    totalItems,
    creditsPerItem: Math.max(...variants.map(creditsOf)),
    credits: need.credits,
    assetCountLeft,
    ...outlook,
    ...(isChain && { steps: pricesOf(order) }),
    ...((definition.steps !== undefined || head.presetId !== null) && {
      warnings: warnings.map((warning) => ({ ...warning })),
    }),
  };
}

/** The price of each segment, for all items that walk it. */
function pricesOf({ definition: { variants }, totalItems }: Order): NonNullable<JobEstimate['steps']> {
  const perVariant = totalItems / variants.length;
  return (variants[0]?.segments ?? []).map((segment, index) => {
    const credits = variants.reduce((sum, variant) => sum + (variant.credits[index] ?? 0), 0) * perVariant;
    const isPass = segment.runs === 'pass';
    return {
      index,
      type: isPass ? 'process' : segment.jobType,
      ...(!isPass && { op: segment.op, model: segment.model }),
      items: totalItems,
      credits,
      processRuns: isPass ? totalItems : 0,
    };
  });
}
