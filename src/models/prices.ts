import type { Model, Models } from './models.ts';
import type { ImageModelPrice } from './schema.ts';

/** Decimal dollars are counted in whole millionths, so that no sum of binary fractions shows. */
const MICROS = 1_000_000;

/** What an image on this model costs, as data. */
export function imageModelPrice({ markup }: Models, model: Model): ImageModelPrice {
  const { id, name, description, series, categories, providerPrice } = model;
  const low = marked(providerPrice.min, markup);
  const high = marked(providerPrice.max, markup);
  return {
    id,
    name,
    description,
    series,
    categories,
    priceFrom: dollars(low),
    priceRange: spanOf(dollars(low), dollars(high)),
    providerPrice: providerPrice.min,
    ...(low !== high && { providerPriceRange: spanOf(providerPrice.min, providerPrice.max) }),
  };
}

/** Credits for one item on this model, at the price of its defaults; a part of a credit counts as a whole one. */
export function creditsPerItem({ markup, creditsPerUsd }: Models, model: Model): number {
  return Math.ceil((marked(model.providerPrice.min, markup) * creditsPerUsd) / MICROS);
}

function marked(usd: string, markup: number): number {
  return Math.round(Math.round(Number(usd) * MICROS) * (1 + markup));
}

function dollars(micros: number): string {
  const text = (micros / MICROS).toFixed(6).replace(/0+$/, '');
  return text.endsWith('.') ? text.slice(0, -1) : text;
}

/** One figure, or both ends. */
export function spanOf(low: string, high: string): string {
  return low === high ? `$${low}` : `$${low} - $${high}`;
}
