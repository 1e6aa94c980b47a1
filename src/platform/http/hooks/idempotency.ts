import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { CountingWindows } from '../../stores/coordination/expiring.ts';
import type { Coordination, StoredHttpResponse } from '../../stores/coordination/port.ts';
import { DAY_MS, MEGABYTE_BYTES } from '../../values/units.ts';
import { rawBodyOf } from '../bodies/parsing.ts';
import { ApiError, invalidParamError } from '../errors/errors.ts';

const STORED_RESPONSE_TTL_MS = DAY_MS;
const IN_PROGRESS_TTL_MS = 5 * 60 * 1000;
const MAX_FINGERPRINTED_BODY_BYTES = MEGABYTE_BYTES;
const MAX_STORED_RESPONSE_BYTES = 512 * 1024;
/**
 * The most bytes of responses that a process stores for one owner in a day. The limit exists because the store of a
 * cluster keeps them in memory. A response beyond the limit is not stored, just like a response that is too large.
 */
const MAX_STORED_BYTES_PER_OWNER = 256 * MEGABYTE_BYTES;
const IDEMPOTENCY_KEY_PATTERN = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;

/** The headers of a response that are stored with its body. */
const STORED_RESPONSE_HEADERS = ['content-type', 'location'];

type ResponseStorage = 'kept' | 'unkept';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * `kept`: the response for an Idempotency-Key is stored and replayed. `unkept`: a successful response contains a
     * new secret, so it is not stored, and a repeat is refused. If absent, the header is ignored. A function decides by
     * the request.
     */
    idempotency?: ResponseStorage | ((request: FastifyRequest) => ResponseStorage | undefined);
    /** Sends an up-to-date response in place of a stored one. Returns false if the stored one is up to date. */
    replayed?: (request: FastifyRequest, reply: FastifyReply, stored: StoredHttpResponse) => Promise<boolean>;
  }
}

interface IdempotentRun {
  key: string;
  token: string;
  /** Whether the call was refused for a temporary reason. If so, a repeat of it is executed. */
  mayRunAgain?: boolean;
}

/**
 * Implements Idempotency-Key: of several equal requests with one key, one runs, and the others get its response. Keys
 * belong to an owner. Install it after the hook that determines the owner and before the hook that parses bodies, so
 * that errors about malformed bodies are replayed too.
 * @param ownerOf the account, or the address of an anonymous caller.
 */
export function installIdempotency(
  app: FastifyInstance,
  coordination: Coordination,
  ownerOf: (request: FastifyRequest) => string,
  { maxBytesPerOwner = MAX_STORED_BYTES_PER_OWNER }: { maxBytesPerOwner?: number } = {},
): void {
  const runs = new WeakMap<FastifyRequest, IdempotentRun>();
  const storedBytes = new CountingWindows(() => performance.now());

  // Each hook returns a promise only for a request with a key, because most have none.
  app.addHook('preValidation', (request, reply, done) => {
    if (request.headers['idempotency-key'] !== undefined) return beginRun(request, reply);
    done();
  });

  app.addHook('onError', (request, _reply, error, done) => {
    const run = runs.get(request);
    if (run !== undefined && error instanceof ApiError) run.mayRunAgain = error.retryable;
    done();
  });

  app.addHook('onSend', (request, reply, payload, done) => {
    const run = runs.get(request);
    if (run !== undefined) return settleRun(run, request, reply, payload);
    done();
  });

  async function beginRun(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    const sent = request.headers['idempotency-key'];
    if (sent === undefined || request.routeOptions.config.idempotency === undefined) return;
    const wellFormed = requireWellFormedKey(sent);
    // A dry run does not use up the key, but refuses a key that the real run would refuse.
    if (responseStorageOf(request) === undefined) return;
    const key = `${ownerOf(request)}/${wellFormed}`;
    const fingerprint = fingerprintOf(request);
    const answer = await coordination.beginIdempotent(
      key,
      fingerprint,
      IN_PROGRESS_TTL_MS,
      STORED_RESPONSE_TTL_MS,
    );
    switch (answer.state) {
      case 'new':
        runs.set(request, { key, token: answer.token });
        return;
      case 'replay':
        return replayResponse(request, reply, answer.response);
      case 'running':
        throw requestInProgressError();
      case 'reused':
        throw keyReusedError();
    }
  }

  /** The response to store; null if it cannot be stored, or if it exceeds the owner's limit. */
  function responseWithinBudget(request: FastifyRequest, reply: FastifyReply, payload: unknown) {
    const response = storableResponse(request, reply, payload);
    if (response === null) return null;
    const bytes = storedBytes.increment(ownerOf(request), STORED_RESPONSE_TTL_MS, response.body.length);
    return bytes > maxBytesPerOwner ? null : response;
  }

  async function settleRun(
    run: IdempotentRun,
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
  ) {
    runs.delete(request);
    try {
      if (reply.statusCode >= 500 || run.mayRunAgain) await coordination.forgetIdempotent(run.key, run.token);
      else
        await coordination.keepIdempotent(run.key, run.token, responseWithinBudget(request, reply, payload));
    } catch (error) {
      // The call has taken effect, so its response is sent although it cannot be stored. A repeat is refused for five
      // minutes.
      request.log.warn({ err: error }, 'The answer under an Idempotency-Key could not be kept');
    }
    return payload;
  }
}

/** The key and the fingerprint of a request; null without a key, or when it is ignored. */
export function idempotencyKeyOf(
  request: FastifyRequest,
): { key: string; fingerprint: string | null } | null {
  const sent = request.headers['idempotency-key'];
  if (sent === undefined || responseStorageOf(request) === undefined) return null;
  return { key: requireWellFormedKey(sent), fingerprint: fingerprintOf(request) };
}

/** The error of a repeat whose first request is still running. Calls that store their key in a document use it too. */
export function requestInProgressError(): ApiError {
  const message =
    'The first request under this Idempotency-Key has not answered: repeat the same call after a moment.';
  return new ApiError('request_in_progress', message, { retryAfterSeconds: 1 });
}

export function keyReusedError(): ApiError {
  const message =
    'This Idempotency-Key was used for another request, or its answer could not be kept: send a new key.';
  return new ApiError('idempotency_key_reuse', message, { param: 'Idempotency-Key' });
}

function requireWellFormedKey(sent: string | string[]): string {
  if (typeof sent === 'string' && IDEMPOTENCY_KEY_PATTERN.test(sent)) return sent;
  throw invalidParamError('Idempotency-Key', 'Idempotency-Key must be 1 to 255 printable ASCII characters.');
}

/** The fingerprint of a request: method, path, query string and raw body. Null when the body is too large. */
function fingerprintOf(request: FastifyRequest): string | null {
  const body = rawBodyOf(request);
  if (body !== undefined && body.length > MAX_FINGERPRINTED_BODY_BYTES) return null;
  const hash = createHash('sha256').update(`${request.method} ${request.url}\n`);
  if (body !== undefined) hash.update(body);
  return hash.digest('base64url');
}

function storableResponse(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): StoredHttpResponse | null {
  if (responseStorageOf(request) === 'unkept' && reply.statusCode < 400) return null;
  const body = payload === undefined || payload === null ? '' : payload;
  if (typeof body !== 'string' || Buffer.byteLength(body) > MAX_STORED_RESPONSE_BYTES) return null;
  const kept = STORED_RESPONSE_HEADERS.map((name) => [name, reply.getHeader(name)]);
  const sent = kept.filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return { status: reply.statusCode, headers: Object.fromEntries(sent), body };
}

function responseStorageOf(request: FastifyRequest): ResponseStorage | undefined {
  const { idempotency } = request.routeOptions.config;
  return typeof idempotency === 'function' ? idempotency(request) : idempotency;
}

async function replayResponse(
  request: FastifyRequest,
  reply: FastifyReply,
  response: StoredHttpResponse,
): Promise<FastifyReply> {
  reply.header('idempotency-replayed', 'true');
  if (await request.routeOptions.config.replayed?.(request, reply, response)) return reply;
  reply.code(response.status).headers(response.headers);
  return reply.serializer((body: unknown) => body as string).send(response.body);
}
