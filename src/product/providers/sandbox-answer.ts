import type { ImageFacts } from '../../../workers/protocol.ts';
import { isJsonObject } from '../../platform/values/json.ts';
import { createReferenceResolver, type JsonSchema, listOrEmpty } from '../models/schema-bounds.ts';
import { rejectedFault } from './provider.ts';

/** The maximum number of nested levels in an answer, and of references in its schema. */
const MAX_ANSWER_LEVELS = 40;
/** The number of outer levels of an answer in which optional properties are filled as well. */
const MAX_OPTIONAL_LEVELS = 2;
/** The maximum size of one answer. Without it, a small schema could require an answer that does not fit into memory. */
const MAX_ANSWER_BYTES = 256 * 1024;
/** The bytes that are counted for each value, and for each schema that is read for it, in addition to its text. */
const BYTES_PER_VALUE = 24;

/** The facts of a picture that the sandbox inserts into its answers, by property name. */
export function sandboxFactsOf(image: ImageFacts): JsonSchema {
  const { width, height, dominantColor } = image;
  const tags = sandboxTagsOf(image);
  const description = `A ${tags.slice(0, 2).join(', ')} picture of ${width} by ${height} pixels, mostly ${dominantColor}.`;
  return { description, width, height, dominantColor, tags };
}

function sandboxTagsOf({ width, height, averageColor, isOpaque }: ImageFacts): string[] {
  const channels = Buffer.from(averageColor.slice(1), 'hex');
  const brightness = channels.reduce((sum, channel) => sum + channel, 0) / channels.length;
  const colourfulness = Math.max(...channels) - Math.min(...channels);
  const shape = width === height ? 'square' : width > height ? 'landscape' : 'portrait';
  const light = brightness < 85 ? 'dark' : brightness > 170 ? 'bright' : 'balanced';
  const colour = colourfulness < 13 ? 'grey' : colourfulness > 100 ? 'colourful' : 'muted';
  return [shape, light, colour, ...(isOpaque ? [] : ['transparent'])];
}

/**
 * Makes an answer for demonstrations that matches a schema. A property with the name of a fact gets this fact; any
 * other property gets the smallest value of its type, or null without a type. Of `anyOf` and `oneOf`, the first schema
 * is used. Conditions and patterns are ignored.
 * @throws ProviderError rejected when the answer is larger than the budget, or its schema refers to itself without end.
 */
export function sandboxAnswer(root: JsonSchema, facts: JsonSchema): unknown {
  const targetOf = createReferenceResolver(root);
  let leftBytes = MAX_ANSWER_BYTES;

  function chargeBytes(bytes: number): void {
    leftBytes -= bytes;
    if (leftBytes < 0) throw answerTooLargeError();
  }

  /** The keywords of a schema, merged with those of the schemas that it refers to or combines. */
  function readKeywords(schema: unknown, level: number): JsonSchema {
    if (level > MAX_ANSWER_LEVELS) throw answerTooLargeError();
    if (!isJsonObject(schema)) return {};
    const { $ref, allOf, anyOf, oneOf, ...own } = schema;
    const referred = typeof $ref === 'string' ? [targetOf($ref)] : [];
    const parts = [
      ...referred,
      ...listOrEmpty(allOf),
      ...listOrEmpty(anyOf).slice(0, 1),
      ...listOrEmpty(oneOf).slice(0, 1),
    ];
    chargeBytes(BYTES_PER_VALUE * (parts.length + Object.keys(own.properties ?? {}).length));
    const all = [...parts.map((part) => readKeywords(part, level + 1)), own];
    const properties = Object.assign({}, ...all.map((part) => part.properties));
    const required = all.flatMap((part) => listOrEmpty(part.required));
    return { ...Object.assign({}, ...all), properties, required };
  }

  function valueFor(part: unknown, name: string, level: number): unknown {
    chargeBytes(BYTES_PER_VALUE + name.length);
    const schema = readKeywords(part, level);
    const type = declaredTypeOf(schema, level);
    const fact = facts[name];
    if (schema.const !== undefined) return chargeValue(schema.const);
    if (Array.isArray(schema.enum)) return chargeValue(schema.enum[0]);
    if (type === 'array') return listFor(schema, listOrEmpty(fact), level);
    if (fact !== undefined && (type === undefined || isOfType(fact, type))) return chargeValue(fact);
    if (type === 'object') return objectFor(schema, level);
    if (type === 'string') return textFor(schema);
    if (type === 'integer' || type === 'number') return smallestNumberFor(schema);
    return type === 'boolean' ? false : null;
  }

  function chargeValue(value: unknown): unknown {
    chargeBytes(JSON.stringify(value)?.length ?? 0);
    return value;
  }

  function objectFor({ properties, required }: JsonSchema, level: number): unknown {
    const declared = properties as JsonSchema;
    const fillsAll = level < MAX_OPTIONAL_LEVELS && leftBytes > MAX_ANSWER_BYTES / 2;
    const names = new Set([...(required as string[]), ...(fillsAll ? Object.keys(declared) : [])]);
    return Object.fromEntries([...names].map((name) => [name, valueFor(declared[name], name, level + 1)]));
  }

  function listFor(
    { items, minItems = 0, maxItems }: JsonSchema,
    found: readonly unknown[],
    level: number,
  ): unknown[] {
    const entries = found.slice(0, Number(maxItems ?? found.length));
    const missing = Math.max(0, Number(minItems) - entries.length);
    if (missing === 0) return entries;
    const entry = valueFor(items, '', level + 1);
    chargeBytes(missing * JSON.stringify(entry).length);
    return [...entries, ...Array.from({ length: missing }, () => entry)];
  }

  function textFor({ minLength = 0, maxLength = Infinity }: JsonSchema): string {
    const text = String(facts.description ?? '');
    chargeBytes(Math.max(text.length, Number(minLength)));
    return [...text.padEnd(Number(minLength), '.')].slice(0, Number(maxLength)).join('');
  }

  return valueFor(root, '', 0);
}

function answerTooLargeError(): Error {
  return rejectedFault(
    'The answer to the schema is larger than the sandbox makes: ask for shorter lists and fewer properties, or run a real model. The operator offers real models by OPENAI_API_KEY or GEMINI_API_KEY.',
  );
}

function smallestNumberFor({
  minimum = 0,
  exclusiveMinimum,
  maximum = Infinity,
  multipleOf,
}: JsonSchema): number {
  const least = exclusiveMinimum === undefined ? Number(minimum) : Number(exclusiveMinimum) + 1;
  const value = Math.min(least, Number(maximum));
  return multipleOf === undefined ? value : Math.ceil(value / Number(multipleOf)) * Number(multipleOf);
}

/** The type that a schema declares. Without one, the root and a schema with properties are objects. */
function declaredTypeOf({ type, properties, required }: JsonSchema, level: number): unknown {
  if (Array.isArray(type)) return type.find((one) => one !== 'null');
  const hasProperties = Object.keys(properties ?? {}).length + listOrEmpty(required).length > 0;
  return type ?? (level === 0 || hasProperties ? 'object' : undefined);
}

function isOfType(fact: unknown, type: unknown): boolean {
  return type === 'integer' ? Number.isInteger(fact) : typeof fact === type;
}
