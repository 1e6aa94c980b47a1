import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { SchemaCheckResult, SchemaTask } from '../../../workers/models/protocol.ts';
import type { PassWarning } from '../../../workers/protocol.ts';
import { readImageHeader } from '../../imaging/images/header/header.ts';
import { OnDemandThread } from '../../platform/concurrency/thread.ts';
import { ApiError, invalidParamError } from '../../platform/http/errors/errors.ts';
import { FairMutex } from '../../platform/queues.ts';
import { isJsonObject } from '../../platform/values/json.ts';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';
import { type ModelRequest, type RawModelAnswer, unavailableFault } from './provider.ts';

/** A result of a model that has passed all checks. */
export type ModelAnswer = { warnings?: PassWarning[] } & (
  | { kind: 'image'; bytes: Uint8Array<ArrayBuffer>; contentType: string }
  | { kind: 'json'; output: Record<string, unknown> }
);

const PICTURE_FORMATS = ['png', 'jpeg', 'webp', 'avif', 'gif'];
const MAX_OUTPUT_BYTES = 256 * 1024;
const MAX_PROBLEM_CHARACTERS = 200;
const CODE_FENCE = '```';

/**
 * Checks an answer against its request, and returns it in its final form. A wrong answer counts as a temporary fault,
 * because the model may answer correctly the next time.
 * @param problemOf describes how a value violates a schema.
 * @throws ProviderError unavailable when there is no picture or no object, or the object violates the schema.
 */
export async function parseModelAnswer(
  answer: RawModelAnswer,
  { op, schema = {} }: ModelRequest,
  problemOf: (schema: object, value: unknown) => Promise<string | undefined>,
): Promise<ModelAnswer> {
  if (op === 'analyze') {
    const output = parseOutput(answer);
    const problem = await problemOf(schema, output);
    if (problem === undefined) return { kind: 'json', output };
    const shortened = problem.slice(0, MAX_PROBLEM_CHARACTERS);
    throw unavailableFault(`The model's answer does not fit the schema: ${shortened}.`);
  }
  const header = answer.kind === 'image' ? readImageHeader(answer.bytes) : null;
  if (answer.kind !== 'image' || header === null || !PICTURE_FORMATS.includes(header.format))
    throw unavailableFault('The answer of the model is not an image.');
  return { kind: 'image', bytes: answer.bytes, contentType: header.mimeType };
}

function parseOutput(answer: RawModelAnswer): Record<string, unknown> {
  const value = answer.kind === 'json' ? answer.value : undefined;
  if (!isJsonObject(value)) throw unavailableFault('The answer of the model is not a JSON object.');
  if (Buffer.byteLength(JSON.stringify(value)) > MAX_OUTPUT_BYTES)
    throw unavailableFault(`The model answered more than ${MAX_OUTPUT_BYTES} bytes of JSON.`);
  return value;
}

/**
 * Parses the JSON that a model has written. Small models put it between code fences, even if the prompt forbids it.
 * @throws ProviderError when the content is not JSON.
 */
export function parseModelJson(content: unknown): unknown {
  const text = typeof content === 'string' ? content.trim() : '';
  return parseBoundedJson(Buffer.from(withoutCodeFences(text)), 'The answer of the model');
}

function withoutCodeFences(text: string): string {
  if (text.length < 2 * CODE_FENCE.length || !text.startsWith(CODE_FENCE) || !text.endsWith(CODE_FENCE))
    return text;
  return text.slice(CODE_FENCE.length, -CODE_FENCE.length).replace(/^json/, '');
}

/** The maximum number of nested levels. With more, recursive code could overflow its stack. */
const MAX_NESTING_DEPTH = 100;
/**
 * The maximum number of bytes outside of strings. A picture is one long string; the rest of an answer is far smaller.
 */
const MAX_SYNTAX_BYTES = MEGABYTE_BYTES;

const QUOTE_BYTE = 0x22;
const [BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from('\\[]{}');

/**
 * Parses JSON from a provider or a model. The depth and the bytes outside of strings are checked first, because many
 * small values take far longer to parse than one long string.
 * @param what the beginning of the error message, such as "The answer of the provider".
 * @throws ProviderError unavailable when the text is not JSON, is nested too deeply or has too many values.
 */
export function parseBoundedJson(json: Buffer, what: string): unknown {
  const problem = findSyntaxProblem(json);
  if (problem !== undefined) throw unavailableFault(`${what} ${problem}.`);
  try {
    return JSON.parse(json.toString());
  } catch {
    throw unavailableFault(`${what} is not JSON.`);
  }
}

function findSyntaxProblem(json: Buffer): string | undefined {
  let depth = 0;
  let syntaxBytes = 0;
  let isInText = false;
  for (let at = 0; at < json.length; at += 1) {
    syntaxBytes += 1;
    if (syntaxBytes > MAX_SYNTAX_BYTES)
      return `has more than ${MAX_SYNTAX_BYTES} bytes of JSON outside of its texts`;
    if (isInText) {
      at = json.indexOf(QUOTE_BYTE, at);
      if (at === -1) return undefined;
      isInText = isEscaped(json, at);
      continue;
    }
    const byte = json[at];
    if (byte === QUOTE_BYTE) isInText = true;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth += 1;
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
    if (depth > MAX_NESTING_DEPTH)
      return `has more than ${MAX_NESTING_DEPTH} lists and objects within each other`;
  }
  return undefined;
}

/** Whether the byte is escaped, because an odd number of backslashes precedes it. */
function isEscaped(json: Buffer, at: number): boolean {
  let first = at;
  while (json[first - 1] === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}

const SCHEMA_THREAD_URL = new URL('../../../workers/models/schemas.ts', import.meta.url);
const SCHEMA_THREAD_HEAP_MEGABYTES = 128;
/** The time limit for one schema, in milliseconds. The largest allowed schema needs a sixth of it on an idle core. */
const MAX_SCHEMA_TASK_MS = 3_000;
/**
 * How long a schema stays refused after it reached the time limit. It may then be checked again, because the machine
 * may only have been busy.
 */
const TIMED_OUT_SCHEMA_TTL_MS = 60_000;
const MAX_CACHED_SCHEMAS = 1_000;
/** How many schemas of one account may wait for the thread of a process that checks schemas. */
const MAX_WAITING_SCHEMAS = 100;
const SCHEMA_QUEUE_RETRY_SECONDS = 5;

/** A schema that a caller sent, and the parameter to name in errors about it. */
interface SchemaToCheck {
  schema: object;
  param: string;
}

/**
 * Compiles the JSON Schemas that callers send for model answers, and checks answers against them. All of this is done
 * by one thread, one schema at a time. Accounts are served in turn.
 */
export class AnswerSchemaChecker {
  readonly #thread = new OnDemandThread<SchemaTask, SchemaCheckResult>(
    SCHEMA_THREAD_URL,
    SCHEMA_THREAD_HEAP_MEGABYTES,
  );
  /** The problem of each schema that was checked; '' if there is none. */
  readonly #problems = new LRUCache<string, string>({ max: MAX_CACHED_SCHEMAS });
  /** The queue for the thread. Accounts are served in turn. */
  readonly #queue = new FairMutex();

  /**
   * Checks that schemas can be used. They are compiled by ajv as JSON Schema draft 2020-12; `format` is ignored.
   * @throws ApiError invalid_param on the first schema that does not compile in time; rate_limited for an account with
   * too many waiting schemas.
   */
  async check(accountId: string, schemas: readonly SchemaToCheck[]): Promise<void> {
    if (this.#queue.waitingOf(accountId) + schemas.length > MAX_WAITING_SCHEMAS)
      throw tooManyWaitingSchemasError();
    for (const { schema, param } of schemas) {
      const task: SchemaTask = { kind: 'check', schema: JSON.stringify(schema) };
      const name = schemaKey(task.schema);
      const problem =
        this.#problems.get(name) ??
        this.#cacheResult(name, await this.#runInThread(accountId, task), 'compile');
      if (problem !== '') throw invalidParamError(param, `The schema ${problem}.`);
    }
  }

  /**
   * How a value violates a schema, as the end of a sentence, such as "/tags must be array". Undefined if the value is
   * valid.
   */
  async findProblem(accountId: string, schema: object, value: unknown): Promise<string | undefined> {
    const task = { kind: 'check', schema: JSON.stringify(schema), value: JSON.stringify(value) } as const;
    const name = schemaKey(task.schema);
    const before = this.#problems.get(name) ?? '';
    if (before !== '') return `the schema ${before}`;
    const result = await this.#runInThread(accountId, task);
    const problem = this.#cacheResult(name, result, 'check');
    return problem === '' ? result?.violation : `the schema ${problem}`;
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  /** Runs a task in the thread. Undefined when the task reached its limit of time or memory. */
  async #runInThread(accountId: string, task: SchemaTask): Promise<SchemaCheckResult | undefined> {
    await this.#queue.takeTurn(accountId);
    try {
      // The thread is started first, because its start must not count against the time limit of the task.
      await this.#thread.run({ kind: 'start' }, new AbortController().signal);
      const timeLimitSignal = AbortSignal.timeout(MAX_SCHEMA_TASK_MS);
      return await this.#thread.run(task, timeLimitSignal).catch((error: unknown) => {
        if (timeLimitSignal.aborted || isOutOfMemory(error)) return undefined;
        throw error;
      });
    } finally {
      this.#queue.endTurn();
    }
  }

  /** Caches the result for a schema. If the schema took too long, the result is cached only for a limited time. */
  #cacheResult(name: string, result: SchemaCheckResult | undefined, work: 'compile' | 'check'): string {
    const problem = result === undefined ? `takes too long to ${work}: simplify it` : (result.problem ?? '');
    this.#problems.set(name, problem, result === undefined ? { ttl: TIMED_OUT_SCHEMA_TTL_MS } : {});
    return problem;
  }
}

function schemaKey(text: string): string {
  return hash('sha256', text, 'base64');
}

function isOutOfMemory(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'ERR_WORKER_OUT_OF_MEMORY';
}

function tooManyWaitingSchemasError(): ApiError {
  return new ApiError(
    'rate_limited',
    `More than ${MAX_WAITING_SCHEMAS} of your answer schemas wait to be checked: send fewer at once.`,
    { retryAfterSeconds: SCHEMA_QUEUE_RETRY_SECONDS, details: { limit: MAX_WAITING_SCHEMAS } },
  );
}
