import vm from 'node:vm';
import type { Options, ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { LRUCache } from 'lru-cache';
import { RE2JS } from 're2js';

/** A caller's JSON Schema is code that somebody else wrote: each of these bounds what it can cost. */
const SCHEMA_MAX_BYTES = 64 * 1024;
const SCHEMA_MAX_LEVELS = 10;
const COMPILE_LIMIT_MS = 1_000;
/** References that double at every level can ask for more steps than there is time: the check is stopped. */
const CHECK_LIMIT_MS = 500;

/** Expressions of a `pattern` run in linear time, whatever the text is. */
const linearRegExp: NonNullable<NonNullable<Options['code']>['regExp']> = Object.assign(
  (pattern: string) => {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
    // ajv tells expressions apart by their text.
    return { test: (text: string) => compiled.test(text), toString: () => pattern };
  },
  { code: 'linearRegExp' },
);

const OPTIONS: Options = {
  strict: false,
  validateFormats: false,
  logger: false,
  code: { regExp: linearRegExp },
};

type Compiled = { validate: ValidateFunction } | { problem: string };

const compiledSchemas = new LRUCache<string, Compiled>({ max: 200 });

/**
 * What keeps a schema from being used, as the end of the sentence "The schema …"; undefined when nothing does. Draft
 * 2020-12 is read as ajv reads it; `format` is a note and is not checked.
 */
export function schemaProblem(schema: unknown): string | undefined {
  const compiled = compiledOf(schema);
  return 'problem' in compiled ? compiled.problem : undefined;
}

/**
 * How a value breaks a schema, in a sentence's end such as "/tags must be array"; undefined when it keeps it.
 * @throws Error when the schema itself is not usable: it was checked before.
 */
export function answerProblem(schema: unknown, value: unknown): string | undefined {
  const compiled = compiledOf(schema);
  if ('problem' in compiled) throw new Error(`The schema ${compiled.problem}.`);
  const { validate } = compiled;
  const kept = within(CHECK_LIMIT_MS, () => validate(value));
  if (kept === undefined) return 'takes too long to check';
  const [error] = validate.errors ?? [];
  return kept ? undefined : `${error?.instancePath ?? ''} ${error?.message ?? 'breaks the schema'}`.trim();
}

function compiledOf(schema: unknown): Compiled {
  const text = JSON.stringify(schema) ?? '';
  const known = compiledSchemas.get(text);
  if (known !== undefined) return known;
  const compiled = compile(schema, text);
  compiledSchemas.set(text, compiled);
  return compiled;
}

function compile(schema: unknown, text: string): Compiled {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    return { problem: 'is no JSON object' };
  if (Buffer.byteLength(text) > SCHEMA_MAX_BYTES)
    return { problem: `is larger than ${SCHEMA_MAX_BYTES} bytes of JSON` };
  if (levelsOf(schema) > SCHEMA_MAX_LEVELS)
    return { problem: `is nested in more than ${SCHEMA_MAX_LEVELS} levels` };
  if (hasRemoteReference(schema))
    return { problem: 'refers to another document: only references within it (#…) are followed' };
  if ('$async' in schema) return { problem: 'has $async, which is not JSON Schema' };
  try {
    // A copy without $id: two schemas of one name must not meet.
    const { $id: _, ...own } = schema as Record<string, unknown>;
    const validate = within(COMPILE_LIMIT_MS, () => new Ajv2020(OPTIONS).compile(own));
    return validate === undefined ? { problem: 'takes too long to compile' } : { validate };
  } catch (error) {
    return { problem: `does not compile: ${reasonOf(error)}` };
  }
}

/** Levels of schemas: lists and the maps under `properties` and the like do not count as their own. */
function levelsOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const below = Object.entries(value).map(([key, part]) =>
    MAPS.has(key) && !Array.isArray(part) && typeof part === 'object' && part !== null
      ? Math.max(0, ...Object.values(part).map(levelsOf))
      : levelsOf(part),
  );
  return (Array.isArray(value) ? 0 : 1) + Math.max(0, ...below);
}

/** Keywords whose value is a map of schemas by name. */
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);

function hasRemoteReference(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(
    ([key, part]) =>
      ((key === '$ref' || key === '$dynamicRef') && typeof part === 'string' && !part.startsWith('#')) ||
      hasRemoteReference(part),
  );
}

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.slice(0, 300);
}

const box = vm.createContext({ work: undefined as unknown });
const runWork = new vm.Script('work()');

/** What the work answers; undefined when it was stopped at its limit, wherever it was. */
function within<T>(limitMs: number, work: () => T): T | undefined {
  try {
    box.work = work;
    return runWork.runInContext(box, { timeout: limitMs }) as T;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined;
    throw error;
  } finally {
    box.work = undefined;
  }
}
