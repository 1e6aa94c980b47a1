import { findModel, type Models } from '../../models/models.ts';
import { creditsPerItem } from '../../models/prices.ts';
import type { Segment } from './plan.ts';

/**
 * The credits of one item for a finished segment. A pass costs none, because it counts against the plan's allowance.
 * @throws Error when the model has no price; a call with such a model is refused before.
 */
export function requirePrice(models: Models, segment: Segment): number {
  if (segment.runs === 'pass') return 0;
  const model = findModel(models, segment.model);
  if (model === undefined) throw new Error(`${segment.model} has no price: it is not offered.`);
  return creditsPerItem(models, model, segment.parameters);
}
