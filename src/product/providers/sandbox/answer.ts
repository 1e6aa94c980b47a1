import type { Measures } from '../../../../workers/models/protocol.ts';
import { MAX_ANSWER_VALUES } from '../../models/least-answer.ts';
import { targetsIn } from '../../models/references.ts';
import { ProviderFault, rejected } from '../provider.ts';

type Schema = Readonly<Record<string, unknown>>;
type Facts = Readonly<Record<string, unknown>>;

/** The most levels of an answer, enough for any accepted schema; a recursive schema ends here. */
const DEEPEST = 12;
/** The most text of one answer, because a small schema can require more than any memory holds. */
const MAX_ANSWER_BYTES = 256 * 1024;
/** The most keywords that are read for one answer, because references can multiply them without creating a value. */
const MAX_KEYWORDS = 30_000;

/** The facts of a picture that the sandbox fills in, by the names of properties. */
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
 * An object that is valid under the schema: facts for properties of their names, and the smallest valid value for
 * everything else. If all properties together exceed the budget, only the required ones are filled.
 * @throws ProviderFault rejected when these exceed the budget as well.
 */
export function answerFor(schema: Schema, facts: Facts): unknown {
  const answer = (onlyRequired: boolean) =>
    valueFor(schema, {
      ...{ targetOf: targetsIn(schema), resolved: new Map() },
      ...{ facts, onlyRequired, budget: answerBudget(), name: '', depth: 0 },
    });
  try {
    return answer(false);
  } catch (error) {
    if (!(error instanceof ProviderFault)) throw error;
    return answer(true);
  }
}

interface AnswerContext {
  /** Finds the target of a reference. */
  targetOf: (reference: string) => unknown;
  /** Each schema with its references followed. */
  resolved: Map<Schema, Schema>;
  facts: Facts;
  onlyRequired: boolean;
  budget: Budget;
  /** The name of the property that is being filled. */
  name: string;
  depth: number;
}

/** The remaining cost of one answer. Answers are made on the event loop, so the whole budget is a few milliseconds. */
interface Budget {
  /** Subtracts a cost. @throws ProviderFault rejected when nothing is left. */
  spend(cost: { values?: number; bytes?: number; keywords?: number }): void;
}

function answerBudget(): Budget {
  const left = { values: MAX_ANSWER_VALUES, bytes: MAX_ANSWER_BYTES, keywords: MAX_KEYWORDS };
  return {
    spend({ values = 0, bytes = 0, keywords = 0 }) {
      left.values -= values;
      left.bytes -= bytes;
      left.keywords -= keywords;
      if (left.values < 0) throw tooLarge(`${MAX_ANSWER_VALUES} values`);
      if (left.bytes < 0) throw tooLarge(`${MAX_ANSWER_BYTES} bytes`);
      if (left.keywords < 0) throw tooLarge(`${MAX_KEYWORDS} keywords to read`);
    },
  };
}

function tooLarge(what: string): Error {
  return rejected(
    `The least answer that fits the schema is larger than the sandbox makes (${what}): ask for shorter lists and fewer properties.`,
  );
}

function valueFor(schema: unknown, context: AnswerContext): unknown {
  context.budget.spend({ values: 1, bytes: context.name.length });
  if (typeof schema !== 'object' || schema === null)
    return chargedValue(context.facts[context.name] ?? null, context);
  const resolved = resolvedOnce(schema as Schema, context);
  if (resolved.const !== undefined) return chargedValue(resolved.const, context);
  if (Array.isArray(resolved.enum)) return chargedValue(resolved.enum[0], context);
  const fact = context.facts[context.name];
  const { type } = resolved;
  if (fact !== undefined && fits(fact, type))
    return type === 'array' ? arrayFor(resolved, context, fact as unknown[]) : chargedValue(fact, context);
  switch (type) {
    case 'object':
      return objectFor(resolved, context);
    case 'array':
      return arrayFor(resolved, context, []);
    case 'string':
      return textFor(resolved, context);
    case 'integer':
    case 'number':
      return numberFor(resolved);
    case 'boolean':
      return false;
    default:
      return null;
  }
}

/** Subtracts a value from the budget that is answered unchanged: a fact, or a value from the schema. */
function chargedValue(value: unknown, { budget }: AnswerContext): unknown {
  budget.spend({ bytes: JSON.stringify(value)?.length ?? 0 });
  return value;
}

function objectFor(schema: Schema, context: AnswerContext): Record<string, unknown> {
  const properties = (schema.properties ?? {}) as Record<string, unknown>;
  const required = (schema.required ?? []) as string[];
  // In a recursive schema, only required properties are filled.
  const fillsAll = !context.onlyRequired && context.depth < DEEPEST;
  const names = fillsAll ? [...Object.keys(properties), ...required] : required;
  if (context.depth > 2 * DEEPEST) return {};
  const depth = context.depth + 1;
  const entryOf = (name: string) => [name, valueFor(properties[name] ?? true, { ...context, name, depth })];
  return Object.fromEntries([...new Set(names)].map(entryOf));
}

function arrayFor(schema: Schema, context: AnswerContext, found: unknown[]): unknown[] {
  const least = Number(schema.minItems ?? 0);
  const most = Number(schema.maxItems ?? Number.POSITIVE_INFINITY);
  const entry = () => valueFor(schema.items ?? true, { ...context, name: '', depth: context.depth + 1 });
  const entries = found.slice(0, most);
  while (entries.length < least) entries.push(entry());
  return entries;
}

function textFor(schema: Schema, { facts, budget }: AnswerContext): string {
  const most = Number(schema.maxLength ?? Number.POSITIVE_INFINITY);
  const text = String(facts.description ?? '');
  const least = Number(schema.minLength ?? 0);
  budget.spend({ bytes: Math.max(least, text.length) });
  return [...text.padEnd(least, '.')].slice(0, most).join('');
}

function numberFor({ minimum, exclusiveMinimum, maximum, multipleOf }: Schema): number {
  const least = exclusiveMinimum === undefined ? Number(minimum ?? 0) : Number(exclusiveMinimum) + 1;
  const value = maximum === undefined ? least : Math.min(least, Number(maximum));
  const step = Number(multipleOf ?? 1);
  return multipleOf === undefined ? value : Math.ceil(value / step) * step;
}

function resolvedOnce(schema: Schema, context: AnswerContext): Schema {
  const known = context.resolved.get(schema);
  if (known !== undefined) return known;
  const joined = resolve(schema, context);
  const resolved = { ...joined, type: typeOf(joined) };
  context.resolved.set(schema, resolved);
  return resolved;
}

/** Follows references within the document, takes the first schema of anyOf and oneOf, and merges allOf. */
function resolve(schema: Schema, context: AnswerContext, hops = 0): Schema {
  if (hops > DEEPEST) return {};
  const { $ref, allOf, anyOf, oneOf, ...own } = schema;
  const parts = [
    ...(typeof $ref === 'string' ? [context.targetOf($ref)] : []),
    ...(Array.isArray(allOf) ? allOf : []),
    ...(Array.isArray(anyOf) ? anyOf.slice(0, 1) : []),
    ...(Array.isArray(oneOf) ? oneOf.slice(0, 1) : []),
  ];
  const joined = parts
    .filter((part): part is Schema => typeof part === 'object' && part !== null)
    .map((part) => resolve(part, context, hops + 1));
  const all = [...joined, own];
  const counted = [...all, ...all.map((part) => part.properties), ...all.map((part) => part.required), parts];
  context.budget.spend({ keywords: counted.reduce<number>((sum, one) => sum + 1 + sizeOf(one), 0) });
  return {
    ...Object.assign({}, ...all),
    properties: Object.assign({}, ...all.map(({ properties }) => properties)),
    required: all.flatMap(({ required }) => (Array.isArray(required) ? (required as string[]) : [])),
  };
}

/** The entries of a list or the properties of an object. */
function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
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

function fits(fact: unknown, type: unknown): boolean {
  if (type === undefined) return true;
  if (type === 'array') return Array.isArray(fact);
  if (type === 'integer') return Number.isInteger(fact);
  return typeof fact === type;
}
