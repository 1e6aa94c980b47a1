import { findModel, type Models } from '../../models/models.ts';
import { creditsPerItem } from '../../models/prices.ts';
import type { Segment } from './plan.ts';

/**
 * Credits that one item owes for a segment that it finished. A pass costs none: it counts against the plan's allowance.
 * @throws Error when the model is in no price list: what is not offered is refused before it is priced.
 */
export function priceOf(models: Models, segment: Segment): number {
  if (segment.runs === 'pass') return 0;
  const model = findModel(models, segment.model);
  if (model === undefined) throw new Error(`${segment.model} has no price: it is not offered.`);
  return creditsPerItem(models, model, segment.parameters);
}
