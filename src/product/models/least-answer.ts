import { schemasIn, targetOf } from './references.ts';

/** Most values of the smallest answer to a schema: no model writes more within the bytes of an answer. */
export const ANSWER_MAX_VALUES = 10_000;

/** Schemas looked at in all rounds together: where these do not suffice, the smallest answer stays unknown. */
const LOOKS_MAX = 50_000;

type Schema = Readonly<Record<string, unknown>>;

/**
 * What keeps every model from answering, as the end of the sentence "The schema …": the smallest answer has too many
 * values, as with lists in lists that each have a minimum, or a definition that requires itself. Undefined when nothing
 * does, or when it cannot be said in a bounded time.
 * @param schema bounded in size (schema-bounds.ts), and refers to nothing outside itself; whether it compiles is not
 *   known.
 */
export function leastAnswerProblem(schema: Schema): string | undefined {
  const least = leastValues(schema);
  if (least === undefined || least <= ANSWER_MAX_VALUES) return undefined;
  return `asks for an answer of more than ${ANSWER_MAX_VALUES} values: lower minItems, and let no definition require itself`;
}

/**
 * The values of the smallest answer, which is an object; Infinity when none ends. Each round reckons every schema from
 * the numbers of the round before, from Infinity down, until no number changes.
 */
function leastValues(root: Schema): number | undefined {
  const schemas = schemasIn(root).reverse();
  // References below an $id start there.
  if (schemas.some((schema) => schema !== root && typeof schema.$id === 'string')) return undefined;
  const targets = new Map<string, unknown>();
  const known = new Map<unknown, number>();
  const of = (part: unknown): number =>
    typeof part === 'object' && part !== null ? (known.get(part) ?? Number.POSITIVE_INFINITY) : 1;
  const referred = ($ref: string): number => {
    if (!targets.has($ref)) targets.set($ref, targetOf(root, $ref));
    return of(targets.get($ref));
  };
  for (let looks = schemas.length; looks <= LOOKS_MAX; looks += schemas.length) {
    let hasChanged = false;
    for (const schema of schemas) {
      const least = leastOf(schema, of, referred);
      hasChanged ||= least !== of(schema);
      known.set(schema, least);
    }
    if (!hasChanged) return Math.max(of(root), leastObject(root, of));
  }
  return undefined;
}

/** Never more than the truth: what has no type may be answered with one value, and conditions are not looked at. */
function leastOf(schema: Schema, of: (part: unknown) => number, referred: ($ref: string) => number): number {
  const { $ref, allOf, anyOf, oneOf, type } = schema;
  return Math.max(
    1,
    type === 'object' ? leastObject(schema, of) : 1,
    type === 'array' ? leastList(schema, of) : 1,
    typeof $ref === 'string' ? referred($ref) : 1,
    listOf(allOf).reduce<number>((most, part) => Math.max(most, of(part)), 1),
    leastChoice(anyOf, of),
    leastChoice(oneOf, of),
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

function leastChoice(choice: unknown, of: (part: unknown) => number): number {
  if (!Array.isArray(choice)) return 1;
  return choice.reduce<number>((least, part) => Math.min(least, of(part)), Number.POSITIVE_INFINITY);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
