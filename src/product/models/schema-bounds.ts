import { isJsonObject } from '../../platform/values/json.ts';
import { decodePercentEncoding } from '../../platform/values/percent-encoding.ts';

/** The maximum size of a caller's JSON Schema in bytes, so that it compiles quickly. */
const MAX_SCHEMA_BYTES = 64 * 1024;
const MAX_SCHEMA_LEVELS = 10;
/** The maximum number of subschemas. A thousand of them compile in half a second. */
const MAX_SUBSCHEMAS = 1_000;
/**
 * The maximum length of all regular expressions together. A repeated part counts as many times as it may repeat.
 * Expressions of this length compile in a quarter of a second.
 */
const MAX_EXPRESSIONS_CHARACTERS = 20_000;
/**
 * The maximum number of steps of a check when all references are followed. References can double the steps at every
 * level, so that a small schema could take for ever.
 */
const MAX_CHECK_STEPS = 100_000;

/**
 * The reason why a schema is not compiled, as the end of the sentence "The schema …"; undefined if it may be compiled.
 * Finding the reason takes a few passes over the schema.
 */
export function findSchemaProblem(schema: unknown): string | undefined {
  if (!isJsonObject(schema)) return 'is not a JSON object';
  if (Buffer.byteLength(JSON.stringify(schema)) > MAX_SCHEMA_BYTES)
    return `is larger than ${MAX_SCHEMA_BYTES} bytes of JSON`;
  if (countLevels(schema) > MAX_SCHEMA_LEVELS) return `is nested in more than ${MAX_SCHEMA_LEVELS} levels`;
  const schemas = collectSchemas(schema);
  if (schemas.length > MAX_SUBSCHEMAS)
    return `has ${schemas.length} properties, branches and other schemas within it, and at most ${MAX_SUBSCHEMAS} are allowed`;
  const expressions = schemas.flatMap(regularExpressionsOf);
  const characters = expressions.reduce((sum, expression) => sum + expandedExpressionLength(expression), 0);
  if (characters > MAX_EXPRESSIONS_CHARACTERS)
    return `has expressions of ${characters} characters where each repeat counts, and at most ${MAX_EXPRESSIONS_CHARACTERS} are allowed: use fewer or shorter patterns, or smaller repeats`;
  if (schemas.some(hasOutsideReference))
    return 'refers to another document: only references within it (#…) are followed';
  if (countCheckSteps(schema) > MAX_CHECK_STEPS) return 'asks for too many steps: its references double';
  if ('$async' in schema) return 'has $async, which is not JSON Schema';
  return undefined;
}

/** Every text in a schema that is used as a regular expression. */
function regularExpressionsOf({ pattern, patternProperties }: JsonSchema): string[] {
  return [
    ...(typeof pattern === 'string' ? [pattern] : []),
    ...(isJsonObject(patternProperties) ? Object.keys(patternProperties) : []),
  ];
}

/** The length of a regular expression. A part in nested repeats counts as many times as it may repeat. */
function expandedExpressionLength(expression: string): number {
  const repeats = Array.from(expression.matchAll(/\{(\d+)(?:,(\d*))?\}/g), ([, least, most]) =>
    Math.max(1, Number(most || least)),
  );
  return expression.length * repeats.reduce((product, repeat) => product * repeat, 1);
}

/** The keywords whose value is an object with a schema under each name. */
const SCHEMA_MAP_KEYWORDS = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);

/** The number of nested levels of a schema. A list, or an object such as `properties`, is not a level of its own. */
function countLevels(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const below = Object.entries(value).map(([key, part]) =>
    SCHEMA_MAP_KEYWORDS.has(key) && isJsonObject(part)
      ? Math.max(0, ...Object.values(part).map(countLevels))
      : countLevels(part),
  );
  return (Array.isArray(value) ? 0 : 1) + Math.max(0, ...below);
}

/** The number of steps that a check takes. A schema counts again for each reference to it. */
function countCheckSteps(root: JsonSchema): number {
  const targetOf = createReferenceResolver(root);
  const stepsByPart = new Map<unknown, number>();
  const count = (part: unknown): number => {
    if (typeof part !== 'object' || part === null) return 0;
    const before = stepsByPart.get(part);
    if (before !== undefined) return before;
    stepsByPart.set(part, 1);
    const { $ref, $defs: _, definitions: __, ...own } = part as Record<string, unknown>;
    const referred = typeof $ref === 'string' ? count(targetOf($ref)) : 0;
    const steps = Object.values(own).reduce<number>((sum, one) => sum + count(one), 1 + referred);
    stepsByPart.set(part, steps);
    return steps;
  };
  return count(root);
}

function hasOutsideReference({ $ref, $dynamicRef }: JsonSchema): boolean {
  return [$ref, $dynamicRef].some((reference) => typeof reference === 'string' && !reference.startsWith('#'));
}

/**
 * The maximum number of values in the smallest answer that a schema allows. An answer with more could not be stored.
 */
const MAX_ANSWER_VALUES = 10_000;

/** The maximum number of schemas that the count visits. Above it, the count is given up, and no problem is reported. */
const MAX_VISITED_SCHEMAS = 50_000;

/**
 * The reason why no model can give an answer that matches a schema, as the end of the sentence "The schema …": the
 * smallest answer has too many values. Examples are nested lists with minimum lengths, and a definition that requires
 * itself. Undefined if no reason is found within a limited number of steps.
 * @param schema must be accepted by `findSchemaProblem`. It may still fail to compile.
 */
export function findSmallestAnswerProblem(schema: JsonSchema): string | undefined {
  const least = countLeastValues(schema);
  if (least === undefined || least <= MAX_ANSWER_VALUES) return undefined;
  return `asks for an answer of more than ${MAX_ANSWER_VALUES} values: lower minItems, and let no definition require itself`;
}

/**
 * Counts the values of the smallest answer; Infinity if every answer would be infinite. Undefined if the counting takes
 * too long. The count of each schema starts at Infinity. In each round it is computed again from the counts of the
 * schemas within it, until no count changes.
 */
function countLeastValues(root: JsonSchema): number | undefined {
  const schemas = collectSchemas(root).reverse();
  // Within a schema that has an $id, references are relative to the $id. They are not resolved here.
  if (schemas.some((schema) => schema !== root && typeof schema.$id === 'string')) return undefined;
  const targetOf = createReferenceResolver(root);
  const leastCounts = new Map<unknown, number>();
  const leastCountOf = (part: unknown): number =>
    typeof part === 'object' && part !== null ? (leastCounts.get(part) ?? Number.POSITIVE_INFINITY) : 1;
  for (let visits = schemas.length; visits <= MAX_VISITED_SCHEMAS; visits += schemas.length) {
    let hasChanged = false;
    for (const schema of schemas) {
      const least = leastValueCountOf(schema, leastCountOf, targetOf);
      hasChanged ||= least !== leastCountOf(schema);
      leastCounts.set(schema, least);
    }
    if (!hasChanged) return Math.max(leastCountOf(root), leastValueCountOfObject(root, leastCountOf));
  }
  return undefined;
}

/**
 * A lower bound of the number of values in an answer. A schema without a type may be answered with one value.
 * Conditions are ignored.
 */
function leastValueCountOf(
  schema: JsonSchema,
  leastCountOf: (part: unknown) => number,
  targetOf: ($ref: string) => unknown,
): number {
  const { $ref, allOf, anyOf, oneOf, type } = schema;
  return Math.max(
    1,
    type === 'object' ? leastValueCountOfObject(schema, leastCountOf) : 1,
    type === 'array' ? minValueCountOfList(schema, leastCountOf) : 1,
    typeof $ref === 'string' ? leastCountOf(targetOf($ref)) : 1,
    ...listOrEmpty(allOf).map(leastCountOf),
    ...[anyOf, oneOf].filter(Array.isArray).map((choice) => Math.min(...choice.map(leastCountOf))),
  );
}

function leastValueCountOfObject(schema: JsonSchema, leastCountOf: (part: unknown) => number): number {
  const properties = (schema.properties ?? {}) as JsonSchema;
  return listOrEmpty(schema.required).reduce<number>(
    (sum, name) =>
      sum +
      (typeof name === 'string' && Object.hasOwn(properties, name) ? leastCountOf(properties[name]) : 1),
    1,
  );
}

function minValueCountOfList(
  { minItems, prefixItems, items }: JsonSchema,
  leastCountOf: (part: unknown) => number,
): number {
  const others = Number(minItems ?? 0) - listOrEmpty(prefixItems).length;
  return 1 + (others > 0 ? others * leastCountOf(items) : 0);
}

export function listOrEmpty(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * Returns a function that finds the target of a reference within a schema: `#`, a pointer such as `#/$defs/name`, or an
 * anchor such as `#name`. The anchors are collected only once, and each target is cached.
 */
export function createReferenceResolver(root: JsonSchema): (reference: string) => unknown {
  const schemas = collectSchemas(root).reverse();
  const anchors = new Map(schemas.map((schema) => [schema.$anchor, schema]));
  const known = new Map<string, unknown>([['#', root]]);
  return (reference) => {
    if (!known.has(reference)) {
      const encoded = reference.slice(1);
      const fragment = decodePercentEncoding(encoded) ?? encoded;
      known.set(reference, fragment.startsWith('/') ? resolvePointer(root, fragment) : anchors.get(fragment));
    }
    return known.get(reference);
  };
}

function resolvePointer(root: JsonSchema, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((value, key) => (value as JsonSchema | null | undefined)?.[key], root);
}

/**
 * Every object within a schema, beginning with the schema itself. Some of the objects are not schemas, but maps of
 * schemas or plain values.
 */
function collectSchemas(root: JsonSchema): JsonSchema[] {
  const found: JsonSchema[] = [];
  const open: object[] = [root];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    if (!Array.isArray(part)) found.push(part as JsonSchema);
    for (const below of Object.values(part))
      if (typeof below === 'object' && below !== null) open.push(below);
  }
  return found;
}
