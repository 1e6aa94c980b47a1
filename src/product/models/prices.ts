import { withoutAbsentFields } from '../../platform/values/present.ts';
import { isSandboxModel, type Model, type ModelsFile } from './models.ts';
import type { ImageModelPrice } from './schema.ts';

/**
 * Dollars are whole numbers of 10^-PLACES dollars, never floating-point numbers: a list price of eight decimals times a
 * markup of six stays exact.
 */
const PLACES = 14;
const DOLLAR = 10n ** BigInt(PLACES);
/** The markup is rounded to six places. */
const MARKUP_PLACES = 6;

/** The price of an image on this model, as the API shows it. */
export function imageModelPrice({ markup }: ModelsFile, model: Model): ImageModelPrice {
  const { id, name, description, series, categories } = model;
  const { low, high } = spanOf(model.price.rows);
  return {
    id,
    name,
    description,
    series,
    categories,
    priceFrom: textOf(withMarkup(low, markup)),
    priceRange: rangeText(withMarkup(low, markup), withMarkup(high, markup)),
    providerPrice: textOf(low),
    ...(low !== high && { providerPriceRange: rangeText(low, high) }),
    ...(isSandboxModel(id) && { sandbox: true }),
  };
}

/**
 * Credits for one item on this model with these parameters: the provider's list price with the markup, rounded up to
 * whole credits, at least one.
 */
export function creditsPerItem(
  models: ModelsFile,
  model: Model,
  parameters: Readonly<Record<string, unknown>>,
): number {
  return creditsFor(models, providerPrice(model, parameters));
}

/** Credits for one item at the model's lowest price. */
export function lowestCreditsPerItem(models: ModelsFile, model: Model): number {
  return creditsFor(models, spanOf(model.price.rows).low);
}

function creditsFor({ markup, creditsPerUsd }: ModelsFile, usd: bigint): number {
  const units = withMarkup(usd, markup) * BigInt(creditsPerUsd);
  return Math.max(1, Number((units + DOLLAR - 1n) / DOLLAR));
}

/**
 * The parameters that determine the price, with the model's defaults for those that were not sent. They are also sent
 * to the provider, so that its own defaults cannot differ from the price.
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

/** The list price in dollars. A value that is not listed gets the highest price. */
function providerPrice(model: Model, sent: Readonly<Record<string, unknown>>): bigint {
  const { by, rows } = model.price;
  const priced = priceParametersOf(model, sent);
  const listed = by.filter((key) => rows.some(({ when }) => isSame(when[key], priced[key])));
  const matching = rows.filter(({ when }) => listed.every((key) => isSame(when[key], priced[key])));
  return spanOf(matching.length === 0 ? rows : matching).high;
}

/** Whether two values are the same. `2` and `"2"` are, because clients send numbers in both forms. */
function isSame(listed: unknown, sent: unknown): boolean {
  return listed !== undefined && String(listed) === String(sent);
}

function spanOf(rows: Model['price']['rows']): { low: bigint; high: bigint } {
  const sorted = rows.map(({ usd }) => dollars(usd)).sort((one, other) => Number(one - other));
  const [low = 0n] = sorted;
  return { low, high: sorted.at(-1) ?? low };
}

/** Parses dollars such as "0.04", the only form in config/models.json. */
function dollars(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(PLACES, '0'));
}

function withMarkup(usd: bigint, markup: number): bigint {
  const one = 10n ** BigInt(MARKUP_PLACES);
  return (usd * (one + BigInt(markup.toFixed(MARKUP_PLACES).replace('.', '')))) / one;
}

/** Formats dollars without trailing zeros. */
function textOf(usd: bigint): string {
  const digits = usd.toString().padStart(PLACES + 1, '0');
  const fraction = digits.slice(-PLACES).replace(/0+$/, '');
  return `${digits.slice(0, -PLACES)}${fraction && `.${fraction}`}`;
}

/** Formats a range of prices, or a single price. */
function rangeText(low: bigint, high: bigint): string {
  return low === high ? `$${textOf(low)}` : `$${textOf(low)} - $${textOf(high)}`;
}
