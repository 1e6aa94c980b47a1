import vm from 'node:vm';
import type { Options, ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { LRUCache } from 'lru-cache';
import { RE2JS } from 're2js';

/** A caller's JSON Schema is code that somebody else wrote: each of these bounds what it can cost. */
const SCHEMA_MAX_BYTES = 64 * 1024;
const SCHEMA_MAX_LEVELS = 10;
const COMPILE_LIMIT_MS = 1_000;
/** Steps of a check, where each reference is followed: those that double at every level are without end. */
const STEPS_MAX = 100_000;
/** What the count does not see, such as a schema within itself, is stopped in time. */
const CHECK_LIMIT_MS = 250;

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

/** A problem that only passed on a busy machine is not remembered. */
type Compiled = { validate: ValidateFunction } | { problem: string; mayPass?: true };

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
 */
export function answerProblem(schema: unknown, value: unknown): string | undefined {
  const compiled = compiledOf(schema);
  if ('problem' in compiled) return `the schema ${compiled.problem}`;
  const { validate } = compiled;
  const kept = within(CHECK_LIMIT_MS, () => validate(value));
  if (kept === undefined) return forbid(schema, 'takes too long to check');
  const [error] = validate.errors ?? [];
  return kept ? undefined : `${error?.instancePath ?? ''} ${error?.message ?? 'breaks the schema'}`.trim();
}

/** A schema whose check was stopped once stops nobody again. */
function forbid(schema: unknown, problem: string): string {
  compiledSchemas.set(JSON.stringify(schema), { problem });
  return `the schema ${problem}`;
}

function compiledOf(schema: unknown): Compiled {
  const text = JSON.stringify(schema) ?? '';
  const known = compiledSchemas.get(text);
  if (known !== undefined) return known;
  const compiled = compile(schema, text);
  if (!('mayPass' in compiled)) compiledSchemas.set(text, compiled);
  return compiled;
}

function compile(schema: unknown, text: string): Compiled {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    return { problem: 'is not a JSON object' };
  if (Buffer.byteLength(text) > SCHEMA_MAX_BYTES)
    return { problem: `is larger than ${SCHEMA_MAX_BYTES} bytes of JSON` };
  if (levelsOf(schema) > SCHEMA_MAX_LEVELS)
    return { problem: `is nested in more than ${SCHEMA_MAX_LEVELS} levels` };
  if (hasRemoteReference(schema))
    return { problem: 'refers to another document: only references within it (#…) are followed' };
  if (stepsOf(schema) > STEPS_MAX) return { problem: 'asks for too many steps: its references double' };
  if ('$async' in schema) return { problem: 'has $async, which is not JSON Schema' };
  try {
    // A copy without $id: two schemas of one name must not meet.
    const { $id: _, ...own } = schema as Record<string, unknown>;
    const ajv = new Ajv2020(OPTIONS);
    // What is ours to compile is compiled before the time of the caller's schema begins.
    ajv.validateSchema({});
    const validate = within(COMPILE_LIMIT_MS, () => ajv.compile(own));
    return validate === undefined ? { problem: 'takes too long to compile', mayPass: true } : { validate };
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

/** Steps of one check at the most: what is referred to counts wherever it is referred to. */
function stepsOf(root: object): number {
  const known = new Map<unknown, number>();
  const count = (part: unknown): number => {
    if (typeof part !== 'object' || part === null) return 0;
    const before = known.get(part);
    if (before !== undefined) return before;
    known.set(part, 1);
    const { $ref, $defs: _, definitions: __, ...own } = part as Record<string, unknown>;
    const referred = typeof $ref === 'string' ? count(targetOf(root, $ref)) : 0;
    const steps = Object.values(own).reduce<number>((sum, one) => sum + count(one), 1 + referred);
    known.set(part, steps);
    return steps;
  };
  return count(root);
}

function targetOf(root: object, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], root);
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

/** A busy machine may give a thread a tenth of its time: the clock then runs out before the work had its share. */
const PATIENCE = [1, 3, 9];

/**
 * What the work answers; undefined when it was stopped, wherever it was, because it used up its limit of the processor's
 * time. It is run again, with more time on the clock, when it was stopped before that.
 */
function within<T>(limitMs: number, work: () => T): T | undefined {
  for (const patience of PATIENCE) {
    const before = process.threadCpuUsage();
    const answer = untilClock(limitMs * patience, work);
    if (answer !== undefined) return answer.value;
    const { user, system } = process.threadCpuUsage(before);
    if ((user + system) / 1_000 >= limitMs * 0.8) return undefined;
  }
  return undefined;
}

function untilClock<T>(timeoutMs: number, work: () => T): { value: T } | undefined {
  try {
    box.work = work;
    return { value: runWork.runInContext(box, { timeout: timeoutMs }) as T };
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined;
    throw error;
  } finally {
    box.work = undefined;
  }
}
