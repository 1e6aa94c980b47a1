import type { Plan } from '../../billing/plans.ts';
import { defaultModelFor, type Models } from '../../models/models.ts';
import { imageModelPrice, lowestCredits } from '../../models/prices.ts';
import type { AiOp, Op } from '../op.ts';
import type { OpPricing } from '../schema.ts';

const EXACT_PRICE =
  'Send the same body to POST /api/v1/jobs?dryRun=true: it answers with the credits and runs nothing.';

/** The price of the op, as data. */
export function pricingOf(op: Op, plans: readonly Plan[], models: Models): OpPricing {
  switch (op.kind) {
    case 'sync':
      return { basis: 'free', summary: 'Free; it does not count against the processing allowance.' };
    case 'deterministic':
      return quotaPricing(plans);
    case 'ai':
      return itemPricing(op, models);
  }
}

function quotaPricing(plans: readonly Plan[]): OpPricing {
  const overage = plans.flatMap(({ id, overageCredits }) =>
    overageCredits === null ? [] : [[id, overageCredits]],
  );
  return {
    basis: 'process_quota',
    processLimit: Object.fromEntries(plans.map(({ id, processLimit }) => [id, processLimit])),
    overageCredits: Object.fromEntries(overage),
    exactPrice: EXACT_PRICE,
    summary:
      "Each item counts once against the plan's monthly allowance; past it, a run costs overageCredits.",
  };
}

function itemPricing(op: AiOp, models: Models): OpPricing {
  const model = defaultModelFor(models, op.op);
  const terms = {
    basis: 'per_item' as const,
    markup: models.markup,
    creditsPerUsd: models.creditsPerUsd,
    exactPrice: EXACT_PRICE,
  };
  if (model === undefined) {
    const summary = 'Priced per item by its model; no model is offered by default, so name one.';
    return { ...terms, summary };
  }
  const credits = lowestCredits(models, model);
  const price = `${credits} ${credits === 1 ? 'credit' : 'credits'}`;
  const summary = `From ${price} per completed item on ${model.id}.`;
  return { ...terms, defaultModel: imageModelPrice(models, model), summary };
}
