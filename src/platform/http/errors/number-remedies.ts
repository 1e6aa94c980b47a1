import type { TSchema } from '@sinclair/typebox';
import { type Remedy, suggestionRemedy, TWO_NUMBERS_PATTERN } from './remedy.ts';

export const NUMBER_TYPES = ['integer', 'number'];
/**
 * The longest text that is searched for a number. Nobody writes longer numbers, and the time of the search grows with
 * the square of the length.
 */
const MAX_NUMBER_CHARACTERS = 64;
const NUMBER_WITH_UNIT_PATTERN =
  /^\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(px|%|deg|°|dpi|fps|x|s|sec|seconds|m|min|minutes|h|hours|d|days|bytes|k|kb|mb|kib|mib)?\s*$/i;
/**
 * Matches a whole number with a point as its thousands separator. The text may also be a number with three decimals.
 */
const POINT_BETWEEN_THOUSANDS_PATTERN = /^[-+]?\d{1,3}\.\d{3}$/;
/** The factors of units of time and size, to seconds and bytes. */
const FACTOR_BY_UNIT: Readonly<Record<string, number>> = {
  ...{ m: 60, min: 60, minutes: 60, h: 3_600, hours: 3_600, d: 86_400, days: 86_400 },
  k: 1e3,
  kb: 1e3,
  kib: 1024,
  mb: 1e6,
  mib: 1024 ** 2,
};

/**
 * The remedy for a wrong number: the number that was meant. If that number is not accepted either, the remedy has the
 * nearest numbers that are.
 */
export function numberRemedy(value: unknown, schema: TSchema): Remedy {
  const [, first, , second] = TWO_NUMBERS_PATTERN.exec(String(value).slice(0, MAX_NUMBER_CHARACTERS)) ?? [];
  if (first !== undefined && first === second) return { says: ` Send ${first}.`, replace: Number(first) };
  const meant = numberAsTextRemedy(value, schema);
  const { replace = value } = meant;
  const share = shareForPercentage(Number(replace), schema);
  if (share !== undefined) return { says: ` Did you mean ${share}?`, replace: share };
  const isNumber = typeof replace === 'number' || (typeof replace === 'string' && replace.trim() !== '');
  if (isNumber && isFractionOfPixels(Number(replace), schema)) return sharePixelsRemedy(Number(replace));
  const nearest = isNumber ? nearestAccepted(Number(replace), schema) : [];
  return nearest.length === 0 ? meant : suggestionRemedy(nearest);
}

/** The smallest and the largest upper bound of the fields that are lengths in pixels of a picture. */
const PIXEL_BOUND_RANGE = [8_192, 100_000] as const;

/** Whether a number is a share of a side, from 0 to 1, although the field expects whole pixels. */
function isFractionOfPixels(value: number, { type, maximum = 0 }: TSchema): boolean {
  const [least, most] = PIXEL_BOUND_RANGE;
  return type === 'integer' && maximum >= least && maximum <= most && value > 0 && value < 1;
}

/**
 * The accepted numbers nearest to a number: the bound that it exceeds, or the whole numbers next to a fraction. Empty
 * if the number itself is accepted.
 */
function nearestAccepted(
  number: number,
  { type, minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY }: TSchema,
): number[] {
  if (!Number.isFinite(number)) return [];
  if (number > maximum) return [maximum];
  if (number < minimum) return [minimum];
  return type === 'integer' && !Number.isInteger(number) ? [Math.floor(number), Math.ceil(number)] : [];
}

function numberAsTextRemedy(value: unknown, schema: TSchema): Remedy {
  if (typeof value === 'boolean') return booleanForNumberRemedy(value, schema);
  if (isPercentage(schema) && typeof value === 'string') {
    const level = PERCENTAGE_BY_QUALITY_WORD.get(value.toLowerCase());
    if (level !== undefined) return suggestionRemedy([level]);
  }
  const text = normalizedNumberText(String(value).slice(0, MAX_NUMBER_CHARACTERS + 1), schema);
  if (text.length > MAX_NUMBER_CHARACTERS) return { says: '' };
  const [, digits, unit] = NUMBER_WITH_UNIT_PATTERN.exec(text) ?? [];
  if (digits === undefined || (schema.type === 'integer' && POINT_BETWEEN_THOUSANDS_PATTERN.test(digits)))
    return { says: '' };
  const number = Number(digits);
  if (unit === '%') return shareRemedy(number, schema);
  const factor = FACTOR_BY_UNIT[unit?.toLowerCase() ?? ''];
  if (factor !== undefined) {
    const replace = Math.round(number * factor);
    return { says: ` Send ${replace}.`, replace };
  }
  if (unit) return { says: ` Send ${number} without the unit.`, replace: number };
  if (isFractionOfPercentage(number, schema)) {
    const replace = Math.round(number * 100);
    return { says: ` Did you mean ${replace}?`, replace };
  }
  const isWritten = typeof value === 'string' && (schema.type === 'number' || Number.isInteger(number));
  if (!isWritten) return { says: '' };
  return { says: ` Send ${number}${digits === String(number) ? ' without quotes' : ''}.`, replace: number };
}

/** Removes quotes and thousands separators, and turns a decimal comma into a point. */
function normalizedNumberText(text: string, { type }: TSchema): string {
  const unquoted = text.trim().replace(/^(["'])(.*)\1$/, '$2');
  if (/^[-+]?\d{1,3}([,_ ]\d{3})+$/.test(unquoted) && type === 'integer')
    return unquoted.replaceAll(/[,_ ]/g, '');
  return type === 'number' && /^[-+]?\d+,\d+$/.test(unquoted) ? unquoted.replace(',', '.') : unquoted;
}

/**
 * The share, 0 to 1, that a percentage means. Undefined for numbers that are no percentage, and for fields whose bounds
 * are not 0 and 1.
 */
function shareForPercentage(value: number, { type, minimum = 0, maximum }: TSchema): number | undefined {
  const share = value / 100;
  const isShare = type === 'number' && maximum === 1 && minimum >= 0;
  return isShare && value >= MIN_PERCENTAGE && share <= maximum && share >= minimum ? share : undefined;
}

/**
 * The smallest number that is taken for a percentage. A smaller number, such as 1.5, is more likely a share above its
 * bound.
 */
const MIN_PERCENTAGE = 2;

/** The largest upper bound of the fields that are factors, such as a brightness. */
const MAX_FACTOR = 10;

/**
 * The remedy for a number with a per cent sign, in a field for a percentage, a share, a factor, another number, or
 * pixels.
 */
function shareRemedy(
  percent: number,
  { type, minimum = 0, maximum = Number.POSITIVE_INFINITY }: TSchema,
): Remedy {
  if (maximum === 100) return { says: ` Send ${percent} without the unit.`, replace: percent };
  const factor = percent / 100;
  if (maximum === 1) return { says: ` Send ${factor}.`, replace: factor };
  const isFactor = minimum >= 0 && maximum <= MAX_FACTOR && factor >= minimum && factor <= maximum;
  if (type === 'number' && isFactor) return suggestionRemedy([factor]);
  if (type === 'number') return { says: ' A share is not taken: send a number without a unit.' };
  return sharePixelsRemedy(percent / 100);
}

function sharePixelsRemedy(share: number): Remedy {
  const says =
    ' A share is not taken: read the size of the picture (POST /api/v1/images/metadata), and send pixels.';
  return { says, share };
}

function isFractionOfPercentage(value: number, schema: TSchema): boolean {
  return isPercentage(schema) && value > 0 && value < 1;
}

function isPercentage({ type, minimum, maximum }: TSchema): boolean {
  return NUMBER_TYPES.includes(type) && minimum === 1 && maximum === 100;
}

/** The percentage that each word for a quality probably means. */
const PERCENTAGE_BY_QUALITY_WORD = new Map(
  Object.entries({ low: 50, medium: 75, high: 90, best: 100, max: 100, maximum: 100 }),
);

/** The remedy for `true` or `false` where a number with an upper bound is expected, such as a wait. */
function booleanForNumberRemedy(value: boolean, { clamped }: TSchema): Remedy {
  const [, most]: readonly (number | undefined)[] = clamped ?? [];
  if (most === undefined) return { says: '' };
  return value
    ? { says: ` Send ${most}, the maximum.`, replace: most }
    : { says: ' Leave it out.', remove: true };
}
