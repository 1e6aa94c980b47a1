import type { TSchema } from '@sinclair/typebox';
import { COLOUR_NOTATIONS } from '../../workers/image/operations/parameter.ts';

/** What a schema accepts, in words that end the sentence "… is expected". */
export function expectationOf(schema: TSchema): string {
  const alternatives: TSchema[] | undefined = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined) return alternatives.map(expectationOf).join(' or ');
  if (schema.const !== undefined) return String(schema.const);
  if (schema.enum !== undefined) return `one of ${schema.enum.join(', ')}`;
  switch (schema.type) {
    case 'integer':
      return `a whole number${range(schema.minimum, schema.maximum)}`;
    case 'number':
      return `a number${range(schema.minimum ?? schema.exclusiveMinimum, schema.maximum ?? schema.exclusiveMaximum)}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return `a list${count(schema.minItems, schema.maxItems, 'entries')}${example(schema)}`;
    case 'string':
      return textExpectation(schema);
    default:
      return `an object${example(schema)}`;
  }
}

function textExpectation(schema: TSchema): string {
  if (schema.format === 'css-color') return `a CSS colour such as ${COLOUR_NOTATIONS}`;
  if (schema.examples !== undefined) return `text such as ${schema.examples.join(', ')}`;
  if (schema.pattern !== undefined) return `text that matches ${schema.pattern}`;
  return `text${count(schema.minLength, schema.maxLength, 'characters')}`;
}

function example({ examples }: TSchema): string {
  return examples === undefined ? '' : `, such as ${JSON.stringify(examples[0])},`;
}

function range(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? '' : ` of at most ${max}`;
}

function count(min: number | undefined, max: number | undefined, noun: string): string {
  if (min !== undefined && max !== undefined) {
    return min === max ? ` of ${min} ${noun}` : ` of ${min} to ${max} ${noun}`;
  }
  if (min !== undefined) return ` of at least ${min} ${noun}`;
  return max === undefined ? '' : ` of at most ${max} ${noun}`;
}
