/**
 * An exact decimal number from 0: `units` of ten to the power of minus `places`. Prices are never stored as
 * floating-point numbers.
 */
export interface Decimal {
  units: bigint;
  places: number;
}

/** Parses a decimal such as "0.04", the only form in config/models.json. */
export function decimal(text: string): Decimal {
  const [whole = '0', fraction = ''] = text.split('.');
  return { units: BigInt(whole + fraction), places: fraction.length };
}

export function plus(one: Decimal, other: Decimal): Decimal {
  const places = Math.max(one.places, other.places);
  return { units: unitsAt(one, places) + unitsAt(other, places), places };
}

export function times(one: Decimal, other: Decimal): Decimal {
  return { units: one.units * other.units, places: one.places + other.places };
}

/** Rounds up to a whole number. */
export function ceiling({ units, places }: Decimal): number {
  const one = 10n ** BigInt(places);
  return Number((units + one - 1n) / one);
}

/** Compares two decimals for a sort: negative, 0 or positive. */
export function compare(one: Decimal, other: Decimal): number {
  const places = Math.max(one.places, other.places);
  const difference = unitsAt(one, places) - unitsAt(other, places);
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}

/** Formats a decimal without trailing zeros. */
export function textOf({ units, places }: Decimal): string {
  const digits = units.toString().padStart(places + 1, '0');
  const whole = digits.slice(0, digits.length - places);
  const fraction = digits.slice(digits.length - places).replace(/0+$/, '');
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

function unitsAt({ units, places }: Decimal, wanted: number): bigint {
  return units * 10n ** BigInt(wanted - places);
}
