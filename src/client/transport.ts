import { type Answer, readAnswer } from './answers.ts';
import { ConnectionError, DarkroomError, foreignResponseError, readFailure, TimeoutError } from './errors.ts';
import { type Clock, environmentVariable, systemClock } from './runtime.ts';

/** The options of a client: the address of the service, the credential, timeouts and retries. */
export interface ClientOptions {
  /** The address of the service. Default: the environment variable DARKROOM_URL, or http://127.0.0.1:3000. */
  baseUrl?: string | undefined;
  /**
   * An API key (`drk_…`), or the token of a console session (`ses_…`). Default: the environment variable DARKROOM_KEY.
   */
  key?: string | undefined;
  /**
   * The maximum duration of one attempt, in milliseconds. It is counted until the response begins, or for JSON until
   * the response is read. Default: 120,000.
   */
  timeoutMs?: number;
  /** How often a call is repeated if its failure may be temporary. Default: 3. */
  maxRetries?: number;
  /** The function that sends requests. Default: the global `fetch`. */
  fetch?: typeof fetch;
  clock?: Clock;
  /** Called for every attempt. The credential in its argument is masked. */
  onDebug?: (event: DebugEvent) => void;
}

/** One attempt of a call. */
export interface DebugEvent {
  method: string;
  url: string;
  /** The headers that were sent. The credential is masked. */
  headers: Record<string, string>;
  attempt: number;
  durationMs: number;
  /** The HTTP status; absent if there was no response. */
  status?: number;
  requestId?: string;
  error?: unknown;
}

export interface CallOptions {
  /** Aborts the call, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  maxRetries?: number | undefined;
  /**
   * Identifies a write, so that it takes effect only once. Default: a new key for each call, which all retries of the
   * call share; none for a call without retries.
   */
  idempotencyKey?: string | undefined;
  headers?: Record<string, string> | undefined;
}

export type QueryFields = Record<string, unknown>;

export interface RequestBody {
  /** The media type; absent if `fetch` derives it from the data. */
  type?: string;
  data: NonNullable<RequestInit['body']>;
}

export interface ApiCall {
  method: string;
  /** The path after `root`, such as `/jobs`. */
  path: string;
  /** The prefix of `path`. Default: /api/v1. */
  root?: string;
  query?: QueryFields | undefined;
  body?: RequestBody | undefined;
  accept?: string;
}

/** A call that is ready to be sent, with its headers and its body. It can be sent several times. */
interface PreparedCall {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: RequestBody['data'];
  duplex?: 'half';
}

const DEFAULT_URL = 'http://127.0.0.1:3000';
const DEFAULT_TIMEOUT_MS = 120_000;
const DEFAULT_RETRIES = 3;
const INITIAL_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 8_000;
/**
 * The longest Retry-After for which the client waits, in milliseconds. If the service requests more, the call fails.
 */
const MAX_RETRY_AFTER_MS = 90_000;
const RANDOM_TEXT_BYTES = 16;
/** A secret of at most this length is masked completely, because its last characters would reveal too much. */
const MAX_FULLY_MASKED_CHARACTERS = 16;

/**
 * Sends calls with one credential. It adds an idempotency key to each write that it may repeat, and handles retries and
 * timeouts.
 */
export class Transport {
  readonly baseUrl: string;
  readonly clock: Clock;
  readonly #credential: string | undefined;
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.baseUrl = (options.baseUrl ?? environmentVariable('DARKROOM_URL') ?? DEFAULT_URL).replace(
      /\/+$/,
      '',
    );
    if (!/^https?:$/.test(URL.parse(this.baseUrl)?.protocol ?? ''))
      throw new TypeError(`baseUrl (DARKROOM_URL) is not an http or https address: ${this.baseUrl}`);
    const key = options.key ?? environmentVariable('DARKROOM_KEY');
    this.#credential = key && `${key.startsWith('ses_') ? 'Bearer' : 'ApiKey'} ${key}`;
    this.clock = options.clock ?? systemClock;
    this.#options = options;
  }

  /** Makes a call whose response is JSON. */
  json<T>(call: ApiCall, options: CallOptions = {}): Promise<Answer<T>> {
    return this.#callWithRetries(call, options, readAnswer<T>);
  }

  /** Makes a call whose response is bytes. Resolves when the first bytes arrive. */
  bytes(call: ApiCall, options: CallOptions = {}): Promise<Response> {
    return this.#callWithRetries(call, options, async (response) => response);
  }

  /**
   * Makes a call, and repeats it while the failure may be temporary. A call whose body is a stream is made only once.
   * @param read reads a successful response. If the connection breaks while it reads, the attempt has failed.
   * @throws DarkroomError, or the reason of the signal.
   */
  async #callWithRetries<T>(
    call: ApiCall,
    options: CallOptions,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const request = this.#prepareCall(call, options);
    const { signal, maxRetries = this.#options.maxRetries ?? DEFAULT_RETRIES } = options;
    const retries = request.duplex === undefined ? maxRetries : 0;
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted();
      try {
        return await this.#attempt(request, attempt, options, read);
      } catch (error) {
        if (attempt > retries || !isWorthRepeating(error)) throw error;
        const waitMs = backoffMs(attempt, error.retryAfterSeconds);
        if (waitMs > MAX_RETRY_AFTER_MS) throw error;
        await this.clock.sleep(waitMs, signal);
      }
    }
  }

  async #attempt<T>(
    { url, ...init }: PreparedCall,
    attempt: number,
    { signal, timeoutMs = this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS }: CallOptions,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const { fetch = (...args: Parameters<typeof globalThis.fetch>) => globalThis.fetch(...args) } =
      this.#options;
    const timedOut = new AbortController();
    const answered = new AbortController();
    const expire = () => timedOut.abort();
    this.clock.sleep(timeoutMs, answered.signal).then(expire, () => {});
    const abortSignals = signal === undefined ? [timedOut.signal] : [timedOut.signal, signal];
    const startedAt = this.clock.now();
    let outcome: Pick<DebugEvent, 'status' | 'requestId' | 'error'> = {};
    try {
      const response = await fetch(url, {
        ...init,
        redirect: 'manual',
        signal: AbortSignal.any(abortSignals),
      });
      const { status, headers } = response;
      outcome = { status, requestId: headers.get('x-request-id') ?? '' };
      if (!response.ok) throw await readFailure(response, this.baseUrl);
      if (headers.get('content-type')?.startsWith('text/html')) throw foreignResponseError(status);
      return await read(response);
    } catch (error) {
      const failure = signal?.aborted
        ? signal.reason
        : toDarkroomError(error, url, timedOut.signal, timeoutMs);
      outcome = { ...outcome, error: failure };
      throw failure;
    } finally {
      answered.abort();
      const { method, headers } = init;
      const durationMs = this.clock.now() - startedAt;
      this.#options.onDebug?.({
        method,
        url,
        headers: maskCredential(headers),
        attempt,
        durationMs,
        ...outcome,
      });
    }
  }

  #prepareCall(call: ApiCall, options: CallOptions): PreparedCall {
    const { method, path, root = '/api/v1', query = {}, body, accept = 'application/json' } = call;
    const search = queryText(query);
    const isWrite = method !== 'GET' && method !== 'HEAD';
    const { maxRetries = this.#options.maxRetries ?? DEFAULT_RETRIES } = options;
    const { idempotencyKey = maxRetries > 0 ? randomText() : undefined } = options;
    const headers: Record<string, string> = {
      accept,
      ...(this.#credential && { authorization: this.#credential }),
      ...(body?.type && { 'content-type': body.type }),
      ...(isWrite && idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      ...withLowerCaseNames(options.headers),
    };
    return {
      method,
      url: `${this.baseUrl}${root}${path}${search === '' ? '' : `?${search}`}`,
      headers,
      ...(body && { body: body.data }),
      ...(body?.data instanceof ReadableStream && { duplex: 'half' }),
    };
  }
}

export function jsonRequestBody(value: unknown): RequestBody {
  return { type: 'application/json', data: JSON.stringify(value) };
}

/** Makes a query string. Fields without a value are left out; lists and objects become JSON text. */
function queryText(query: QueryFields): string {
  const fields = Object.entries(query).filter(([, value]) => value !== undefined);
  const texts = fields.map(([name, value]): [string, string] => [
    name,
    typeof value === 'object' ? JSON.stringify(value) : String(value),
  ]);
  return new URLSearchParams(texts).toString();
}

function toDarkroomError(
  error: unknown,
  url: string,
  overtime: AbortSignal,
  timeoutMs: number,
): DarkroomError {
  if (error instanceof DarkroomError) return error;
  if (overtime.aborted) return new TimeoutError(timeoutMs);
  const message = `${url} could not be reached: check that the service runs there (baseUrl, DARKROOM_URL).`;
  return new ConnectionError(message, { cause: error });
}

/**
 * Whether to repeat a call. A call is not repeated after `query_timeout`, or if its error suggests another call
 * (`details.instead`), because the same call would take too long again.
 */
function isWorthRepeating(error: unknown): error is DarkroomError {
  if (!(error instanceof DarkroomError) || !error.retryable) return false;
  return error.details.reason !== 'query_timeout' && error.details.instead === undefined;
}

/**
 * How long to wait before the next attempt, in milliseconds: the Retry-After of the service, or else a random time
 * between half of a bound and the bound, which doubles with each attempt.
 */
function backoffMs(attempt: number, retryAfterSeconds: number | undefined): number {
  if (retryAfterSeconds !== undefined) return retryAfterSeconds * 1000;
  const longest = Math.min(MAX_BACKOFF_MS, INITIAL_BACKOFF_MS * 2 ** (attempt - 1));
  return longest * (0.5 + Math.random() / 2);
}

/**
 * Random text that cannot be guessed. `crypto.randomUUID` is not used, because it is missing on pages that were not
 * loaded over https.
 */
export function randomText(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(RANDOM_TEXT_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The headers, in which the credential is shortened to its scheme and its last characters. */
function maskCredential({ authorization, ...headers }: Record<string, string>): Record<string, string> {
  if (authorization === undefined) return headers;
  const [scheme, secret = ''] = authorization.split(' ');
  const end = secret.length > MAX_FULLY_MASKED_CHARACTERS ? secret.slice(-4) : '';
  return { ...headers, authorization: `${scheme} …${end}` };
}

function withLowerCaseNames(headers: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
