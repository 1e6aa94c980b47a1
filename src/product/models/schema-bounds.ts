import { isObject } from '../../platform/values/json.ts';
import { type Schema, schemasIn, targetsIn } from './references.ts';

/** The limits of a caller's JSON Schema, which bound the time to compile it. */
const MAX_SCHEMA_BYTES = 64 * 1024;
const MAX_SCHEMA_LEVELS = 10;
/** The most subschemas. A thousand of them compile in half a second. */
const MAX_SUBSCHEMAS = 1_000;
/**
 * The most characters of regular expressions, multiplied by their repeats. This many compile in a quarter of a second.
 */
const MAX_EXPRESSIONS_CHARACTERS = 20_000;
/**
 * The most steps of a check with all references followed, because references that double at every level grow without
 * bound.
 */
const MAX_CHECK_STEPS = 100_000;

/**
 * The reason why a schema may not be compiled, as the end of the sentence "The schema …"; undefined when it may. It
 * walks the schema a few times and compiles nothing.
 */
export function schemaProblem(schema: unknown): string | undefined {
  if (!isObject(schema)) return 'is not a JSON object';
  if (Buffer.byteLength(JSON.stringify(schema)) > MAX_SCHEMA_BYTES)
    return `is larger than ${MAX_SCHEMA_BYTES} bytes of JSON`;
  if (levelsOf(schema) > MAX_SCHEMA_LEVELS) return `is nested in more than ${MAX_SCHEMA_LEVELS} levels`;
  const schemas = schemasIn(schema);
  if (schemas.length > MAX_SUBSCHEMAS)
    return `has ${schemas.length} properties, branches and other schemas within it, and at most ${MAX_SUBSCHEMAS} are allowed`;
  const expressions = schemas.flatMap(expressionsOf);
  const characters = expressions.reduce((sum, expression) => sum + expandedLength(expression), 0);
  if (characters > MAX_EXPRESSIONS_CHARACTERS)
    return `has expressions of ${characters} characters where each repeat counts, and at most ${MAX_EXPRESSIONS_CHARACTERS} are allowed: use fewer or shorter patterns, or smaller repeats`;
  if (schemas.some(refersOutside))
    return 'refers to another document: only references within it (#…) are followed';
  if (stepsOf(schema) > MAX_CHECK_STEPS) return 'asks for too many steps: its references double';
  if ('$async' in schema) return 'has $async, which is not JSON Schema';
  return undefined;
}

/** Every string of a schema that may be a regular expression. */
function expressionsOf({ pattern, patternProperties }: Schema): string[] {
  return [
    ...(typeof pattern === 'string' ? [pattern] : []),
    ...(isObject(patternProperties) ? Object.keys(patternProperties) : []),
  ];
}

/** The highest number of repeats in a regular expression; nested repeats are multiplied. */
function expandedLength(expression: string): number {
  const repeats = Array.from(expression.matchAll(/\{(\d+)(?:,(\d*))?\}/g), ([, least, most]) =>
    Math.max(1, Number(most || least)),
  );
  return expression.length * repeats.reduce((product, repeat) => product * repeat, 1);
}

/** Keywords whose value is a map of schemas by name. */
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);

/** The levels of nested schemas. Lists, and maps such as `properties`, are not levels of their own. */
function levelsOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const below = Object.entries(value).map(([key, part]) =>
    MAPS.has(key) && isObject(part) ? Math.max(0, ...Object.values(part).map(levelsOf)) : levelsOf(part),
  );
  return (Array.isArray(value) ? 0 : 1) + Math.max(0, ...below);
}

/** The most steps of one check: a referenced schema counts at each of its references. */
function stepsOf(root: Schema): number {
  const targetOf = targetsIn(root);
  const known = new Map<unknown, number>();
  const count = (part: unknown): number => {
    if (typeof part !== 'object' || part === null) return 0;
    const before = known.get(part);
    if (before !== undefined) return before;
    known.set(part, 1);
    const { $ref, $defs: _, definitions: __, ...own } = part as Record<string, unknown>;
    const referred = typeof $ref === 'string' ? count(targetOf($ref)) : 0;
    const steps = Object.values(own).reduce<number>((sum, one) => sum + count(one), 1 + referred);
    known.set(part, steps);
    return steps;
  };
  return count(root);
}

function refersOutside({ $ref, $dynamicRef }: Schema): boolean {
  return [$ref, $dynamicRef].some((reference) => typeof reference === 'string' && !reference.startsWith('#'));
}
