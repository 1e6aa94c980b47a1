import type { TSchema } from '@sinclair/typebox';

/**
 * Descriptions of the values that the formats of a slice's schemas accept, such as `css-color`, in the style of
 * expectationOf.
 */
export type FormatDescriptions = Readonly<Record<string, string>>;

/** Describes the values that a schema accepts, for the sentence "… is expected". */
export function describeExpectedValue(schema: TSchema, formats: FormatDescriptions = {}): string {
  const alternatives: TSchema[] | undefined = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined)
    return alternatives.map((one) => describeExpectedValue(one, formats)).join(' or ');
  if (schema.const !== undefined) return String(schema.const);
  if (schema.enum !== undefined) return `one of ${schema.enum.join(', ')}`;
  if (Array.isArray(schema.type)) {
    return schema.type
      .map((type: string) => describeExpectedValue({ ...schema, type }, formats))
      .join(' or ');
  }
  switch (schema.type) {
    case 'integer':
      return `a whole number${rangeOf(schema)}`;
    case 'number':
      return `a number${rangeOf(schema)}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return `a list${countPhrase(schema.minItems, schema.maxItems, 'entries')}${example(schema)}`;
    case 'null':
      return 'null';
    case 'string':
      return textExpectation(schema, formats);
    default:
      return `an object${example(schema)}`;
  }
}

function textExpectation(schema: TSchema, formats: FormatDescriptions): string {
  const words = formats[schema.format ?? ''];
  if (words !== undefined) return words;
  if (schema.examples !== undefined) return `text such as ${schema.examples.join(', ')}`;
  if (schema.pattern !== undefined) return `text that matches ${schema.pattern}`;
  return `text${countPhrase(schema.minLength, schema.maxLength, 'characters')}`;
}

function example({ examples }: TSchema): string {
  return examples === undefined ? '' : `, such as ${JSON.stringify(examples[0])},`;
}

function rangeOf(schema: TSchema): string {
  const min: number | undefined = schema.minimum ?? schema.exclusiveMinimum;
  const max: number | undefined = schema.maximum ?? schema.exclusiveMaximum;
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? '' : ` of at most ${max}`;
}

/** ` of 1 to 20 entries`, ` that is not empty`; nothing without a bound. */
export function countPhrase(min: number | undefined, max: number | undefined, noun: string): string {
  if (min !== undefined && max !== undefined) {
    return min === max ? ` of ${min} ${noun}` : ` of ${min} to ${max} ${noun}`;
  }
  if (min === 1) return ' that is not empty';
  if (min !== undefined) return ` of at least ${min} ${noun}`;
  return max === undefined ? '' : ` of at most ${max} ${noun}`;
}
