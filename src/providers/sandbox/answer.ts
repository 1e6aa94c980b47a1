import type { Measures } from '../../../workers/models/protocol.ts';
import { rejected } from '../provider.ts';

type Schema = Readonly<Record<string, unknown>>;
type Facts = Readonly<Record<string, unknown>>;

/** Deep enough for any schema that is accepted; a schema that refers to itself ends here. */
const DEEPEST = 12;
/** Values and schemas that one answer may take: more than any picture has facts for, in a few milliseconds. */
const STEPS_MAX = 10_000;
/** Characters of all texts of an answer. */
const CHARACTERS_MAX = 100_000;

/** What the sandbox knows about a picture, by the names that an answer may ask for. */
export function factsOf(measures: Measures): Facts {
  const { width, height, dominantColor, hasText } = measures;
  const tags = tagsOf(measures);
  const description = `A ${tags.slice(0, 2).join(', ')} picture of ${width} by ${height} pixels, mostly ${dominantColor}.`;
  return { description, width, height, dominantColor, hasText, tags };
}

function tagsOf({ width, height, brightness, colourfulness, isTransparent }: Measures): string[] {
  const shape = width === height ? 'square' : width > height ? 'landscape' : 'portrait';
  const light = brightness < 0.33 ? 'dark' : brightness > 0.66 ? 'bright' : 'balanced';
  const colour = colourfulness < 0.05 ? 'grey' : colourfulness > 0.4 ? 'colourful' : 'muted';
  return [shape, light, colour, ...(isTransparent ? ['transparent'] : [])];
}

/**
 * An object that fits the schema: facts under their own names, and the least that fits for everything else.
 * @throws ProviderFault rejected for a schema whose least answer is larger than the sandbox makes.
 */
export function answerFor(schema: Schema, facts: Facts): unknown {
  const spent = { steps: 0, characters: 0 };
  return valueFor(schema, { root: schema, facts, name: '', depth: 0, spent });
}

interface Place {
  root: Schema;
  facts: Facts;
  /** Of the property that is filled. */
  name: string;
  depth: number;
  /** What the whole answer has taken so far. */
  spent: { steps: number; characters: number };
}

function spend({ spent }: Place, steps: number, characters = 0): void {
  spent.steps += steps;
  spent.characters += characters;
  if (spent.steps <= STEPS_MAX && spent.characters <= CHARACTERS_MAX) return;
  throw rejected(
    `The least answer that fits the schema is larger than the sandbox makes (${STEPS_MAX} values, ${CHARACTERS_MAX} characters): ask for less.`,
  );
}

function valueFor(schema: unknown, place: Place): unknown {
  spend(place, 1);
  if (typeof schema !== 'object' || schema === null) return place.facts[place.name] ?? null;
  const resolved = resolve(schema as Schema, place);
  const fixed = resolved.const ?? (Array.isArray(resolved.enum) ? resolved.enum[0] : undefined);
  if (fixed !== undefined) {
    spend(place, 0, JSON.stringify(fixed).length);
    return fixed;
  }
  const fact = place.facts[place.name];
  const type = typeOf(resolved);
  if (fact !== undefined && fits(fact, type))
    return type === 'array' ? listFor(resolved, place, fact as unknown[]) : fact;
  switch (type) {
    case 'object':
      return objectFor(resolved, place);
    case 'array':
      return listFor(resolved, place, []);
    case 'string':
      return textFor(resolved, place);
    case 'integer':
    case 'number':
      return numberFor(resolved);
    case 'boolean':
      return false;
    default:
      return null;
  }
}

function objectFor(schema: Schema, place: Place): Record<string, unknown> {
  const properties = (schema.properties ?? {}) as Record<string, unknown>;
  const required = (schema.required ?? []) as string[];
  // Where a schema goes round in circles, only what it insists on is filled.
  const names = place.depth < DEEPEST ? [...Object.keys(properties), ...required] : required;
  if (place.depth > 2 * DEEPEST) return {};
  spend(place, names.length, names.join('').length);
  return Object.fromEntries(
    [...new Set(names)].map((name) => [
      name,
      valueFor(properties[name] ?? true, { ...place, name, depth: place.depth + 1 }),
    ]),
  );
}

function listFor(schema: Schema, place: Place, found: unknown[]): unknown[] {
  const least = Number(schema.minItems ?? 0);
  const most = Number(schema.maxItems ?? Number.POSITIVE_INFINITY);
  const entry = () => valueFor(schema.items ?? true, { ...place, name: '', depth: place.depth + 1 });
  const entries = found.slice(0, Math.min(most, 100));
  while (entries.length < Math.min(least, 100)) entries.push(entry());
  return entries;
}

function textFor(schema: Schema, place: Place): string {
  const most = Number(schema.maxLength ?? Number.POSITIVE_INFINITY);
  const text = String(place.facts.description ?? '');
  spend(place, 0, Math.max(text.length, Math.min(Number(schema.minLength ?? 0), 10_000)));
  return [...text.padEnd(Math.min(Number(schema.minLength ?? 0), 10_000), '.')].slice(0, most).join('');
}

function numberFor({ minimum, exclusiveMinimum, maximum, multipleOf }: Schema): number {
  const least = exclusiveMinimum === undefined ? Number(minimum ?? 0) : Number(exclusiveMinimum) + 1;
  const value = maximum === undefined ? least : Math.min(least, Number(maximum));
  const step = Number(multipleOf ?? 1);
  return multipleOf === undefined ? value : Math.ceil(value / step) * step;
}

/** Follows references within the document and takes the first of a choice; what all must hold is joined. */
function resolve(schema: Schema, place: Place, hops = 0): Schema {
  if (hops > DEEPEST) return {};
  const { $ref, allOf, anyOf, oneOf, ...own } = schema;
  const parts = [
    ...(typeof $ref === 'string' ? [at(place.root, $ref)] : []),
    ...(Array.isArray(allOf) ? allOf : []),
    ...(Array.isArray(anyOf) ? anyOf.slice(0, 1) : []),
    ...(Array.isArray(oneOf) ? oneOf.slice(0, 1) : []),
  ];
  const named = [own.properties ?? {}, own.required ?? []].map((names) => Object.keys(names).length);
  spend(place, parts.length + Math.max(...named));
  const joined = parts
    .filter((part): part is Schema => typeof part === 'object' && part !== null)
    .map((part) => resolve(part, place, hops + 1));
  const all = [...joined, own];
  return {
    ...Object.assign({}, ...all),
    properties: Object.assign({}, ...all.map(({ properties }) => properties)),
    required: all.flatMap(({ required }) => (Array.isArray(required) ? (required as string[]) : [])),
  };
}

function at(root: Schema, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], root);
}

function typeOf(schema: Schema): string | undefined {
  const { type } = schema;
  if (typeof type === 'string') return type;
  if (Array.isArray(type)) return type.find((one) => one !== 'null') ?? 'null';
  if (schema.items !== undefined || schema.minItems !== undefined) return 'array';
  if (schema.minLength !== undefined || schema.pattern !== undefined) return 'string';
  if (schema.minimum !== undefined || schema.maximum !== undefined) return 'number';
  const isObject =
    Object.keys((schema.properties ?? {}) as object).length > 0 || (schema.required as string[])?.length > 0;
  return isObject ? 'object' : undefined;
}

function fits(fact: unknown, type: string | undefined): boolean {
  if (type === undefined) return true;
  if (type === 'array') return Array.isArray(fact);
  if (type === 'integer') return Number.isInteger(fact);
  return typeof fact === type;
}
