import { type Schema, schemasIn, targetsIn } from './references.ts';

/** The most values of the smallest answer to a schema: more do not fit into the bytes of an answer. */
export const MAX_ANSWER_VALUES = 10_000;

/** The most schemas that are visited over all rounds. Beyond them, the smallest answer stays unknown. */
const MAX_VISITS = 50_000;

/**
 * The reason why no model can answer a schema, as the end of the sentence "The schema …": its smallest answer has too
 * many values, for example in nested lists with minimum lengths, or because a definition requires itself. Undefined
 * when there is no such reason, or when none is found in a bounded time.
 * @param schema bounded in size (see schema-bounds.ts) and without outside references; it may fail to compile.
 */
export function leastAnswerProblem(schema: Schema): string | undefined {
  const least = leastValues(schema);
  if (least === undefined || least <= MAX_ANSWER_VALUES) return undefined;
  return `asks for an answer of more than ${MAX_ANSWER_VALUES} values: lower minItems, and let no definition require itself`;
}

/**
 * The number of values of the smallest answer, which is an object; Infinity when every answer is infinite. Each round
 * computes the number of every schema from those of the previous round, beginning with Infinity, until no number
 * changes.
 */
function leastValues(root: Schema): number | undefined {
  const schemas = schemasIn(root).reverse();
  // References below an $id are relative to it.
  if (schemas.some((schema) => schema !== root && typeof schema.$id === 'string')) return undefined;
  const targetOf = targetsIn(root);
  const known = new Map<unknown, number>();
  const of = (part: unknown): number =>
    typeof part === 'object' && part !== null ? (known.get(part) ?? Number.POSITIVE_INFINITY) : 1;
  for (let visits = schemas.length; visits <= MAX_VISITS; visits += schemas.length) {
    let hasChanged = false;
    for (const schema of schemas) {
      const least = leastOf(schema, of, targetOf);
      hasChanged ||= least !== of(schema);
      known.set(schema, least);
    }
    if (!hasChanged) return Math.max(of(root), leastObject(root, of));
  }
  return undefined;
}

/** A lower bound: a schema without a type may be answered with one value, and conditions are ignored. */
function leastOf(schema: Schema, of: (part: unknown) => number, targetOf: ($ref: string) => unknown): number {
  const { $ref, allOf, anyOf, oneOf, type } = schema;
  return Math.max(
    1,
    type === 'object' ? leastObject(schema, of) : 1,
    type === 'array' ? leastList(schema, of) : 1,
    typeof $ref === 'string' ? of(targetOf($ref)) : 1,
    ...listOf(allOf).map(of),
    ...[anyOf, oneOf].filter(Array.isArray).map((choice) => Math.min(...choice.map(of))),
  );
}

function leastObject(schema: Schema, of: (part: unknown) => number): number {
  const properties = (schema.properties ?? {}) as Schema;
  return listOf(schema.required).reduce<number>(
    (sum, name) =>
      sum + (typeof name === 'string' && Object.hasOwn(properties, name) ? of(properties[name]) : 1),
    1,
  );
}

function leastList({ minItems, prefixItems, items }: Schema, of: (part: unknown) => number): number {
  const others = Number(minItems ?? 0) - listOf(prefixItems).length;
  return 1 + (others > 0 ? others * of(items) : 0);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
