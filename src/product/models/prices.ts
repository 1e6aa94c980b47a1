import { ceiling, compare, type Decimal, decimal, plus, textOf, times } from './decimal.ts';
import type { Model, Models } from './models.ts';
import type { ImageModelPrice } from './schema.ts';

/** The price of an image on this model, as data. */
export function imageModelPrice({ markup }: Models, model: Model): ImageModelPrice {
  const { id, name, description, series, categories } = model;
  const { low, high } = spanOf(model);
  const [markedLow, markedHigh] = [marked(low, markup), marked(high, markup)];
  return {
    id,
    name,
    description,
    series,
    categories,
    priceFrom: textOf(markedLow),
    priceRange: rangeText(markedLow, markedHigh),
    providerPrice: textOf(low),
    ...(compare(low, high) !== 0 && { providerPriceRange: rangeText(low, high) }),
  };
}

/**
 * Credits for one item on this model with these parameters: the provider's list price with the markup, rounded up to
 * whole credits, and at least one credit.
 */
export function creditsPerItem(
  { markup, creditsPerUsd }: Models,
  model: Model,
  parameters: Readonly<Record<string, unknown>>,
): number {
  const usd = providerPrice(model, parameters);
  return Math.max(1, ceiling(times(marked(usd, markup), decimal(String(creditsPerUsd)))));
}

/** Credits for one item at the model's lowest price. */
export function lowestCredits({ markup, creditsPerUsd }: Models, model: Model): number {
  return Math.max(1, ceiling(times(marked(spanOf(model).low, markup), decimal(String(creditsPerUsd)))));
}

/**
 * The parameters that determine the price, with the model's defaults for those that were not sent. They are sent to the
 * provider as well, so that its own defaults cannot differ from the price.
 */
export function pricedParameters(
  { price, parameters: declared }: Model,
  sent: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const entries = price.by.map((key): [string, unknown] => [
    key,
    sent[key] ?? declared.find((parameter) => parameter.key === key)?.defaultValue,
  ]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined && value !== null));
}

/** The list price in dollars. A value that is not in the list gets the highest price. */
function providerPrice(model: Model, sent: Readonly<Record<string, unknown>>): Decimal {
  const { by, rows } = model.price;
  const asked = pricedParameters(model, sent);
  const listed = by.filter((key) => rows.some(({ when }) => isSame(when[key], asked[key])));
  const matching = rows.filter(({ when }) => listed.every((key) => isSame(when[key], asked[key])));
  return highest(matching.length === 0 ? rows : matching);
}

/** `2` and `"2"` are equal here, because clients send numbers in both forms. */
function isSame(listed: unknown, asked: unknown): boolean {
  return listed !== undefined && String(listed) === String(asked);
}

function highest(rows: Model['price']['rows']): Decimal {
  return rows.map(({ usd }) => decimal(usd)).reduce((most, usd) => (compare(usd, most) > 0 ? usd : most));
}

function spanOf({ price }: Model): { low: Decimal; high: Decimal } {
  const sorted = price.rows.map(({ usd }) => decimal(usd)).sort(compare);
  const [low = decimal('0')] = sorted;
  return { low, high: sorted.at(-1) ?? low };
}

/** The markup is rounded to six places. */
function marked(usd: Decimal, markup: number): Decimal {
  return times(usd, plus(decimal('1'), decimal(markup.toFixed(6))));
}

/** Formats a range of prices, or a single price. */
function rangeText(low: Decimal, high: Decimal): string {
  return compare(low, high) === 0 ? `$${textOf(low)}` : `$${textOf(low)} - $${textOf(high)}`;
}
