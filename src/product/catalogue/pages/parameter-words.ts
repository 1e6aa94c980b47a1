import type { OpParameter } from '../schema.ts';

/** The type, bounds, values, default and meaning of a parameter in one line. */
export function parameterSummaryLine(parameter: OpParameter): string {
  const fallback = defaultTextOf(parameter);
  return `${acceptedValuesText(parameter)}${fallback === undefined ? '' : `; default ${fallback}`}. ${parameter.description}`;
}

/** The default of a parameter as text. */
export function defaultTextOf({ default: fallback }: OpParameter): string | undefined {
  return fallback === undefined ? undefined : String(fallback).replace(/\.$/, '');
}

/** The types of a parameter with their bounds, or its values. */
export function acceptedValuesText({ type, enum: words, min, max }: OpParameter): string {
  const types = type.split(' or ');
  // If there are several types, the bounds are those of the number. The text is one of a list of values.
  const bounded = types.filter(isNumeric).length > 0 ? isNumeric : () => true;
  const worded = types.includes('string') ? 'string' : types[0];
  const described = types.map((one) => {
    if (words !== undefined && one === worded) return words.join(', ');
    return `${one}${bounded(one) ? boundsOf(one, min, max) : ''}`;
  });
  return described.join(' or ');
}

function isNumeric(type: string): boolean {
  return type === 'integer' || type === 'number';
}

/** The bounds of a number, or of the length of a text or a list. */
function boundsOf(type: string, min: number | undefined, max: number | undefined): string {
  if (min === undefined && max === undefined) return '';
  const counted = isNumeric(type) ? '' : type === 'array' ? ' entries' : ' characters';
  if (max === undefined) return ` of at least ${min}${counted}`;
  if (min === undefined) return ` of at most ${max}${counted}`;
  return counted === '' ? ` ${min} to ${max}` : ` of ${min} to ${max}${counted}`;
}
