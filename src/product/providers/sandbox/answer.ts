import type { Measures } from '../../../../workers/models/protocol.ts';
import { type Schema, targetsIn } from '../../models/references.ts';
import { rejected } from '../provider.ts';

/** The most levels of an answer, more than any accepted schema has without references to itself. */
const MAX_DEPTH = 40;
/** The levels on which properties that are not required are filled as well. */
const MAX_FULL_DEPTH = 2;
/** The budget of one answer, in bytes, because a small schema can require more than any memory holds. */
const MAX_ANSWER_BYTES = 256 * 1024;
/** What a value or the reading of a property costs of the budget, besides its text. */
const VALUE_BYTES = 24;

/** The facts of a picture that the sandbox fills in, by the names of properties. */
export function factsOf(measures: Measures): Schema {
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
 * An answer for a demonstration: facts for properties of their names, and the smallest value of the declared type for
 * everything else. Of `anyOf` and `oneOf` the first schema counts; conditions and patterns are not read.
 * @throws ProviderFault rejected when the answer is larger than the budget.
 */
export function answerFor(root: Schema, facts: Schema): unknown {
  const targetOf = targetsIn(root);
  const merged = new Map<unknown, Schema>();
  let leftBytes = MAX_ANSWER_BYTES;

  function spend(bytes: number): void {
    leftBytes -= bytes;
    if (leftBytes < 0) throw tooLarge();
  }

  /** A schema with its references followed and its parts merged. A schema that contains itself adds nothing. */
  function mergedOf(schema: unknown): Schema {
    if (typeof schema !== 'object' || schema === null) return {};
    const known = merged.get(schema);
    if (known !== undefined) return known;
    merged.set(schema, {});
    const { $ref, allOf, anyOf, oneOf, ...own } = schema as Schema;
    const parts = [
      ...(typeof $ref === 'string' ? [targetOf($ref)] : []),
      ...listOf(allOf),
      ...listOf(anyOf).slice(0, 1),
      ...listOf(oneOf).slice(0, 1),
    ];
    const all = [...parts.map(mergedOf), own];
    const properties = Object.assign({}, ...all.map((part) => part.properties));
    const required = all.flatMap((part) => listOf(part.required));
    spend(VALUE_BYTES * (parts.length + required.length + Object.keys(properties).length));
    const whole = { ...Object.assign({}, ...all), properties, required };
    merged.set(schema, whole);
    return whole;
  }

  function valueFor(part: unknown, name: string, depth: number): unknown {
    const schema = mergedOf(part);
    const fact = facts[name];
    const type = typeOf(schema, depth);
    spend(VALUE_BYTES + name.length);
    if (depth > MAX_DEPTH) throw tooLarge();
    if (schema.const !== undefined) return spent(schema.const);
    if (Array.isArray(schema.enum)) return spent(schema.enum[0]);
    if (type === 'array') return listFor(schema, Array.isArray(fact) ? fact : [], depth);
    if (fact !== undefined && (type === undefined || isOfType(fact, type))) return spent(fact);
    if (type === 'object') return objectFor(schema, depth);
    if (type === 'string') return textFor(schema);
    if (type === 'integer' || type === 'number') return numberFor(schema);
    return type === 'boolean' ? false : null;
  }

  function spent(value: unknown): unknown {
    spend(JSON.stringify(value)?.length ?? 0);
    return value;
  }

  function objectFor({ properties, required }: Schema, depth: number): unknown {
    const declared = properties as Schema;
    const fillsAll = depth < MAX_FULL_DEPTH && leftBytes > MAX_ANSWER_BYTES / 2;
    const names = new Set([...(required as string[]), ...(fillsAll ? Object.keys(declared) : [])]);
    return Object.fromEntries([...names].map((name) => [name, valueFor(declared[name], name, depth + 1)]));
  }

  function listFor({ items, minItems, maxItems }: Schema, found: unknown[], depth: number): unknown[] {
    const entries = found.slice(0, Number(maxItems ?? found.length));
    while (entries.length < Number(minItems ?? 0)) entries.push(valueFor(items, '', depth + 1));
    return entries;
  }

  function textFor({ minLength, maxLength }: Schema): string {
    const text = String(facts.description ?? '');
    spend(Math.max(text.length, Number(minLength ?? 0)));
    return [...text.padEnd(Number(minLength ?? 0), '.')].slice(0, Number(maxLength ?? Infinity)).join('');
  }

  return valueFor(root, '', 0);
}

function tooLarge(): Error {
  return rejected(
    'The answer to the schema is larger than the sandbox makes: ask for shorter lists and fewer properties, or run a real model. The operator offers real models by OPENAI_API_KEY or GEMINI_API_KEY.',
  );
}

function numberFor({ minimum, exclusiveMinimum, maximum, multipleOf }: Schema): number {
  const least = exclusiveMinimum === undefined ? Number(minimum ?? 0) : Number(exclusiveMinimum) + 1;
  const value = Math.min(least, Number(maximum ?? Infinity));
  return multipleOf === undefined ? value : Math.ceil(value / Number(multipleOf)) * Number(multipleOf);
}

/** The declared type, or the one that the keywords imply. The root is an object unless it says otherwise. */
function typeOf(schema: Schema, depth: number): unknown {
  const { type, items, minItems, minLength, pattern, minimum, maximum } = schema;
  if (Array.isArray(type)) return type.find((one) => one !== 'null') ?? 'null';
  if (type !== undefined) return type;
  if (depth === 0 || Object.keys(schema.properties ?? {}).length > 0 || listOf(schema.required).length > 0)
    return 'object';
  if (items !== undefined || minItems !== undefined) return 'array';
  if (minLength !== undefined || pattern !== undefined) return 'string';
  return minimum !== undefined || maximum !== undefined ? 'number' : undefined;
}

function isOfType(fact: unknown, type: unknown): boolean {
  return type === 'integer' ? Number.isInteger(fact) : typeof fact === type;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
