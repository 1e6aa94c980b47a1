import { withoutAbsentFields } from '../../platform/values/present.ts';
import { isSandboxModel, type Model, type ModelsFile } from './models.ts';
import type { ImageModelPrice } from './schema.ts';

/**
 * The number of decimal places of an amount in dollars. Amounts are integers of the smallest unit, so that a list price
 * with eight decimals times a markup with six is exact.
 */
const DOLLAR_DECIMAL_PLACES = 14;
const ONE_DOLLAR = 10n ** BigInt(DOLLAR_DECIMAL_PLACES);
/** The decimal places to which the markup is rounded. */
const MARKUP_DECIMAL_PLACES = 6;

export function imageModelPrice({ markup }: ModelsFile, model: Model): ImageModelPrice {
  const { id, name, description, series, categories } = model;
  const { low, high } = priceSpanOf(model.price.rows);
  return {
    id,
    name,
    description,
    series,
    categories,
    priceFrom: dollarText(withMarkup(low, markup)),
    priceRange: rangeText(withMarkup(low, markup), withMarkup(high, markup)),
    providerPrice: dollarText(low),
    ...(low !== high && { providerPriceRange: rangeText(low, high) }),
    ...(isSandboxModel(id) && { sandbox: true }),
  };
}

/**
 * The credits for one item on this model with these parameters: the list price with the markup, rounded up to whole
 * credits, and at least one credit.
 */
export function creditsPerItem(
  models: ModelsFile,
  model: Model,
  parameters: Readonly<Record<string, unknown>>,
): number {
  return creditsForPrice(models, providerPrice(model, parameters));
}

export function lowestCreditsPerItem(models: ModelsFile, model: Model): number {
  return creditsSpanOf(models, model).min;
}

/** The lowest and the highest credits for one item on a model. */
export function creditsSpanOf(models: ModelsFile, model: Model): { min: number; max: number } {
  const { low, high } = priceSpanOf(model.price.rows);
  return { min: creditsForPrice(models, low), max: creditsForPrice(models, high) };
}

function creditsForPrice({ markup, creditsPerUsd }: ModelsFile, usd: bigint): number {
  const units = withMarkup(usd, markup) * BigInt(creditsPerUsd);
  return Math.max(1, Number((units + ONE_DOLLAR - 1n) / ONE_DOLLAR));
}

/**
 * The parameters that determine the price. For those that were not sent, the model's defaults are filled in. The
 * defaults are also sent to the provider, which may have other ones.
 */
export function priceParametersOf(
  { price, parameters: declared }: Model,
  sent: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const entries = price.by.map((key): [string, unknown] => [
    key,
    sent[key] ?? declared.find((parameter) => parameter.key === key)?.defaultValue,
  ]);
  return withoutAbsentFields(Object.fromEntries(entries));
}

/**
 * The list price in dollars for these parameters. A value that is not listed is ignored. If several prices match, the
 * highest is taken; if none matches, the highest of the model.
 */
function providerPrice(model: Model, sent: Readonly<Record<string, unknown>>): bigint {
  const { by, rows } = model.price;
  const priced = priceParametersOf(model, sent);
  const listed = by.filter((key) => rows.some(({ when }) => isSameValue(when[key], priced[key])));
  const matching = rows.filter(({ when }) => listed.every((key) => isSameValue(when[key], priced[key])));
  return priceSpanOf(matching.length === 0 ? rows : matching).high;
}

/** Whether a sent value equals a listed one. `2` and `"2"` are equal, because clients send numbers in both forms. */
function isSameValue(listed: unknown, sent: unknown): boolean {
  return listed !== undefined && String(listed) === String(sent);
}

function priceSpanOf(rows: Model['price']['rows']): { low: bigint; high: bigint } {
  const sorted = rows.map(({ usd }) => parseDollars(usd)).sort((one, other) => Number(one - other));
  const [low = 0n] = sorted;
  return { low, high: sorted.at(-1) ?? low };
}

/** Parses an amount in dollars as config/models.json contains it, such as "0.04". */
function parseDollars(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(DOLLAR_DECIMAL_PLACES, '0'));
}

function withMarkup(usd: bigint, markup: number): bigint {
  const one = 10n ** BigInt(MARKUP_DECIMAL_PLACES);
  return (usd * (one + BigInt(markup.toFixed(MARKUP_DECIMAL_PLACES).replace('.', '')))) / one;
}

/** Formats dollars without trailing zeros. */
function dollarText(usd: bigint): string {
  const digits = usd.toString().padStart(DOLLAR_DECIMAL_PLACES + 1, '0');
  const fraction = digits.slice(-DOLLAR_DECIMAL_PLACES).replace(/0+$/, '');
  return `${digits.slice(0, -DOLLAR_DECIMAL_PLACES)}${fraction && `.${fraction}`}`;
}

/** Formats a range of prices, or a single price. */
function rangeText(low: bigint, high: bigint): string {
  return low === high ? `$${dollarText(low)}` : `$${dollarText(low)} - $${dollarText(high)}`;
}
