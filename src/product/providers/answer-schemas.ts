import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { SchemaResult, SchemaTask } from '../../../workers/models/protocol.ts';
import { OnDemandThread } from '../../platform/concurrency/thread.ts';
import { ApiError, invalidParamError } from '../../platform/http/errors/errors.ts';
import { FairMutex } from '../../platform/queues.ts';

const THREAD = new URL('../../../workers/models/schemas.ts', import.meta.url);
const THREAD_HEAP_MEGABYTES = 128;
/** The time limit for one schema. The largest allowed schema takes a sixth of it on an idle core. */
const MAX_TASK_MS = 3_000;
/**
 * How long a schema that reached the limit stays refused. It is tried again later, because the machine may only have
 * been busy.
 */
const REMEMBERED_MS = 60_000;
const MAX_KNOWN_SCHEMAS = 1_000;
/** How many schemas of one account may wait for the thread in which a process checks schemas. */
const MAX_WAITING_SCHEMAS = 100;
const RETRY_SECONDS = 5;

/** A schema that a caller sent, and the parameter to name in an error about it. */
interface SchemaToCheck {
  schema: object;
  param: string;
}

/**
 * Compiles and checks the JSON Schemas that callers send for model answers. It uses one thread, one schema at a time;
 * accounts take turns.
 */
export class AnswerSchemaChecker {
  readonly #thread = new OnDemandThread<SchemaTask, SchemaResult>(THREAD, THREAD_HEAP_MEGABYTES);
  /** The problem of each schema; '' for none. */
  readonly #known = new LRUCache<string, string>({ max: MAX_KNOWN_SCHEMAS });
  /** The queue for the thread. Accounts take turns in it. */
  readonly #queue = new FairMutex();

  /**
   * Checks that schemas can be used. They are read as JSON Schema draft 2020-12 by ajv, which ignores `format`.
   * @throws ApiError invalid_param on the first schema that does not compile in time; rate_limited for an account with
   *   too many waiting schemas.
   */
  async check(accountId: string, schemas: readonly SchemaToCheck[]): Promise<void> {
    if (this.#queue.waitingOf(accountId) + schemas.length > MAX_WAITING_SCHEMAS) throw tooManyWaiting();
    for (const { schema, param } of schemas) {
      const task: SchemaTask = { kind: 'check', schema: JSON.stringify(schema) };
      const name = nameOf(task.schema);
      const problem =
        this.#known.get(name) ?? this.#remember(name, await this.#inThread(accountId, task), 'compile');
      if (problem !== '') throw invalidParamError(param, `The schema ${problem}.`);
    }
  }

  /**
   * How a value violates a schema, as the end of a sentence such as "/tags must be array". Undefined when it is valid.
   */
  async findProblem(accountId: string, schema: object, value: unknown): Promise<string | undefined> {
    const task = { kind: 'check', schema: JSON.stringify(schema), value: JSON.stringify(value) } as const;
    const name = nameOf(task.schema);
    const before = this.#known.get(name) ?? '';
    if (before !== '') return `the schema ${before}`;
    const result = await this.#inThread(accountId, task);
    const problem = this.#remember(name, result, 'check');
    return problem === '' ? result?.broken : `the schema ${problem}`;
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  /** Runs a task in the thread. Undefined when it reached its limit of time or memory. */
  async #inThread(accountId: string, task: SchemaTask): Promise<SchemaResult | undefined> {
    await this.#queue.takeTurn(accountId);
    try {
      // The thread is started first, because the time limit of a task counts from when its thread runs.
      await this.#thread.run({ kind: 'start' }, new AbortController().signal);
      const limit = AbortSignal.timeout(MAX_TASK_MS);
      return await this.#thread.run(task, limit).catch((error: unknown) => {
        if (limit.aborted || isOutOfMemory(error)) return undefined;
        throw error;
      });
    } finally {
      this.#queue.endTurn();
    }
  }

  /** Caches a result. The result of a schema that took too long is cached for a limited time. */
  #remember(name: string, result: SchemaResult | undefined, work: 'compile' | 'check'): string {
    const problem = result === undefined ? `takes too long to ${work}: simplify it` : (result.problem ?? '');
    this.#known.set(name, problem, result === undefined ? { ttl: REMEMBERED_MS } : {});
    return problem;
  }
}

function nameOf(text: string): string {
  return hash('sha256', text, 'base64');
}

function isOutOfMemory(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'ERR_WORKER_OUT_OF_MEMORY';
}

function tooManyWaiting(): ApiError {
  return new ApiError(
    'rate_limited',
    `More than ${MAX_WAITING_SCHEMAS} of your answer schemas wait to be checked: send fewer at once.`,
    { retryAfterSeconds: RETRY_SECONDS, details: { limit: MAX_WAITING_SCHEMAS } },
  );
}
