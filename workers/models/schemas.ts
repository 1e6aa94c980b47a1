import type { Options, ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { LRUCache } from 'lru-cache';
import { RE2JS } from 're2js';
import type { SchemaCheckResult, SchemaTask } from './protocol.ts';

/**
 * This thread checks answers against schemas. Schemas and answers are untrusted, so the thread is terminated if a task
 * takes too long.
 */

/** Compiles the regular expression of a `pattern`, which then runs in linear time for every text. */
const compileLinearRegExp: NonNullable<NonNullable<Options['code']>['regExp']> = Object.assign(
  (pattern: string) => {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
    // ajv distinguishes expressions by the text that `toString` returns.
    return { test: (text: string) => compiled.test(text), toString: () => pattern };
  },
  { code: 'linearRegExp' },
);

const AJV_OPTIONS = {
  strict: false,
  validateFormats: false,
  logger: false,
  code: { regExp: compileLinearRegExp },
} as const;
const MAX_REASON_CHARACTERS = 300;

type CompiledSchema = { validate: ValidateFunction } | { problem: string };

const compiledSchemas = new LRUCache<string, CompiledSchema>({ max: 100 });

/** Compiles a schema, and validates a value against it if the task has one. */
export default function performSchemaTask(task: SchemaTask): SchemaCheckResult {
  if (task.kind === 'start') return {};
  const compiled = compiledSchemas.get(task.schema) ?? compileSchema(task.schema);
  compiledSchemas.set(task.schema, compiled);
  if ('problem' in compiled) return { problem: compiled.problem };
  if (task.value === undefined) return {};
  const { validate } = compiled;
  if (validate(JSON.parse(task.value))) return {};
  const [error] = validate.errors ?? [];
  return { violation: `${error?.instancePath ?? ''} ${error?.message ?? 'breaks the schema'}`.trim() };
}

function compileSchema(text: string): CompiledSchema {
  try {
    // The copy has no $id, so that two schemas with the same name never collide.
    const { $id: _, ...schema } = JSON.parse(text) as Record<string, unknown>;
    return { validate: new Ajv2020(AJV_OPTIONS).compile(schema) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { problem: `does not compile: ${reason.slice(0, MAX_REASON_CHARACTERS)}` };
  }
}
