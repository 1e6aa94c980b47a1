import type { FontWarning, InstalledFonts } from '../../../imaging/fonts/fonts.ts';
import type { Caller } from '../../accounts/authentication.ts';
import { requestedTextOf } from '../../transforms/fonts.ts';
import type { JobsContext } from '../context.ts';
import { creditsPerVariantItem, type PricedVariant, sandboxModelsOf } from '../definitions.ts';
import type { JobEstimate } from '../schema.ts';
import { type JobOrder, refusePriceAboveMax } from './order.ts';

/**
 * Computes the price of a job, for a dry run. Nothing is stored.
 * @throws ApiError 402 insufficient_credit for a price above the caller's own limit, as in a submit.
 */
export async function estimateJobOrder(
  { holds, plan, countAssets }: Pick<JobsContext, 'holds' | 'plan' | 'countAssets'>,
  { accountId, plan: planId }: Caller,
  order: JobOrder,
  fontWarnings: readonly StepFontWarning[],
): Promise<JobEstimate> {
  const { head, definition, totalItems, need, notRetryableItems = [] } = order;
  const inFonts = fontWarnings.map((warning) => ({ ...warning, message: fontWarningMessage(warning) }));
  const warnings = [...order.warnings.map((warning) => ({ ...warning })), ...inFonts];
  const hasSteps = definition.steps !== undefined || head.presetId !== null;
  const assetCountLeft = Math.max(0, plan(planId).storedAssets - (await countAssets(accountId)));
  const { price, ...outlook } = await holds.readPriceOutlook(accountId, need);
  refusePriceAboveMax(order, price);
  const { variants } = definition;
  const isChain = (variants[0]?.segments.length ?? 0) > 1;
  return {
    object: 'estimate',
    type: head.type,
    totalItems,
    ...(sandboxModelsOf(variants).length > 0 && { sandbox: true }),
    creditsPerItem: Math.max(...variants.map(creditsPerVariantItem)),
    credits: need.credits,
    assetCountLeft,
    ...outlook,
    ...(isChain && { steps: stepEstimatesOf(order) }),
    ...((hasSteps || warnings.length > 0) && { warnings }),
    ...(notRetryableItems.length > 0 && { notRetryableItems: [...notRetryableItems] }),
  };
}

/** The price of each segment, summed over all items that run it. */
function stepEstimatesOf(order: JobOrder): NonNullable<JobEstimate['steps']> {
  const { variants } = order.definition;
  const itemCounts = itemsPerSegment(order);
  return (variants[0]?.segments ?? []).map((segment, index) => {
    const items = variants.map((_, variant) => itemCounts[variant]?.[index] ?? 0);
    const total = items.reduce((sum, count) => sum + count, 0);
    const isPass = segment.runs === 'pass';
    return {
      index,
      type: isPass ? 'process' : segment.jobType,
      ...(!isPass && { op: segment.op, model: segment.model }),
      items: total,
      credits: variants.reduce((sum, { credits }, at) => sum + (credits[index] ?? 0) * (items[at] ?? 0), 0),
      processRuns: isPass ? total : 0,
    };
  });
}

/**
 * The number of items that run each segment, by variant and segment. An item of a resumed job begins after its finished
 * segments.
 */
function itemsPerSegment(order: JobOrder): number[][] {
  const { definition, iterateItems, totalItems, notRetryableItems } = order;
  const { variants } = definition;
  const isResume = notRetryableItems !== undefined;
  if (!isResume) return variants.map(({ segments }) => segments.map(() => totalItems / variants.length));
  const itemCounts = variants.map(({ segments }) => segments.map(() => 0));
  for (const { variant, progress } of iterateItems()) {
    const counts = itemCounts[variant] ?? [];
    for (let index = progress?.segment ?? 0; index < counts.length; index += 1)
      counts[index] = (counts[index] ?? 0) + 1;
  }
  return itemCounts;
}

/** Finds characters and font families that the service lacks. */
export interface JobFonts {
  fonts: Pick<InstalledFonts, 'findWarnings'>;
}

/** A warning about the text that a step draws. `steps` are the indexes of all steps of the same pass. */
export interface StepFontWarning extends FontWarning {
  steps: number[];
}

/**
 * The characters and font families that the service lacks for the passes of the variants, without duplicates. The text
 * of a render is not checked, because it is known only when the page is drawn.
 */
export async function findFontWarnings(
  { fonts }: JobFonts,
  variants: ReadonlyArray<Pick<PricedVariant, 'segments'>>,
): Promise<StepFontWarning[]> {
  const warningsByName = new Map<string, StepFontWarning>();
  for (const segment of variants.flatMap(({ segments }) => segments)) {
    if (segment.runs !== 'pass') continue;
    for (const warning of await fonts.findWarnings(requestedTextOf(segment.pass))) {
      const key = `${warning.code}:${warning.name}`;
      if (!warningsByName.has(key)) warningsByName.set(key, { ...warning, steps: segment.stepIndexes });
    }
  }
  return [...warningsByName.values()];
}

function fontWarningMessage({ code, name }: FontWarning): string {
  return code === 'missing_glyph'
    ? `No font of this service has the character U+${name}, so that a box is drawn in its place.`
    : `The font ${name} is not there, so that another one is drawn: GET /api/v1/fonts lists those that are.`;
}
