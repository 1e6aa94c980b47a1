import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import type { TSchema } from '@sinclair/typebox';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError, invalidParam } from '../errors.ts';
import { collect } from './streamed-body.ts';

/** Largest JSON body, in bytes. */
export const JSON_BODY_LIMIT_BYTES = 8 * 1024 * 1024;

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * `json` (default): the body is read, and parsed before validation. `optional`: so it is, and a call without one is as
     * one that sends `{}`. `stream`: the handler reads it itself.
     */
    body?: 'json' | 'optional' | 'stream';
    /** The JSON that may come instead of the bytes of an image, and so may a multipart `file`. Absent: bytes alone. */
    reference?: TSchema;
    /** The name of a second file that a multipart body has: such a body, or a reference, is all that is read. */
    secondFile?: string;
    /** Where the bytes of an image go that are sent here, as `METHOD /path`. */
    uploadsAt?: string;
  }
}

const rawBodies = new WeakMap<FastifyRequest, Buffer>();

/** The bytes of a JSON body as they came; undefined when there was none. */
export function rawBodyOf(request: FastifyRequest): Buffer | undefined {
  return rawBodies.get(request);
}

/**
 * Reads bodies. JSON is kept as bytes first, so that a request's sameness is judged on what was sent, and parsed by
 * `installBodyParsing` when that is done. A stream route gets the raw stream, whatever its type.
 *
 * Fastify's own parsers do nothing but hand on the stream: what they refuse closes the connection under a client that
 * is still sending, which then never sees the answer.
 */
export function installBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (_request: FastifyRequest, stream: Readable) => stream);
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const { 'content-encoding': encoding = 'identity' } = request.headers;
    if (encoding.toLowerCase() !== 'identity' && hasBody(request)) throw unsupportedEncoding(encoding);
    done();
  });
  // Answers a promise only where something was sent.
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.body !== undefined || hasBody(request)) return readBody(request);
    done();
  });

  async function readBody(request: FastifyRequest): Promise<void> {
    const { config, schema } = request.routeOptions;
    if (config.body === 'stream') return;
    const stream = request.body as Readable | undefined;
    request.body = undefined;
    // A route without a body schema ignores what is sent with it.
    if (!hasBody(request) || schema?.body === undefined) return;
    const type = request.headers['content-type'] ?? '';
    if (!JSON_TYPE.test(type)) throw unsupportedType(type, config.uploadsAt);
    if (stream === undefined) return;
    const raw = await collect(stream, request, JSON_BODY_LIMIT_BYTES, 'body');
    if (raw.length > 0) rawBodies.set(request, raw);
  }
}

/** JSON in UTF-8, the only encoding that it has between machines. */
const JSON_TYPE = /^application\/([\w.+-]+\+)?json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?;?$/i;

/**
 * Parses the kept bytes into `request.body`. Runs after idempotency has judged them, before validation.
 * @throws ApiError invalid_param on `body` for malformed JSON.
 */
export function installBodyParsing(app: FastifyInstance): void {
  app.addHook('preValidation', (request, _reply, done) => {
    const raw = rawBodies.get(request);
    if (raw !== undefined) request.body = parseJson(raw);
    // No GET takes a body; a look at its route costs as much as this hook.
    else if (request.method !== 'GET') standIn(request);
    done();
  });
}

/** What stands for the JSON that was not sent; a route without a body schema needs none. */
function standIn(request: FastifyRequest): void {
  const { config, schema } = request.routeOptions;
  if (config.body === 'stream' || schema?.body === undefined) return;
  if (config.body !== 'optional') throw emptyBody(schema.body);
  request.body = {};
}

/** Lists and objects within each other; more is for programs that count on the reader's stack. */
const DEEPEST_JSON = 200;

/**
 * JSON text as a value.
 * @throws ApiError invalid_param on `body` when empty, malformed, nested too deeply or no Unicode.
 */
export function parseJson(raw: Buffer): unknown {
  if (!isUtf8(raw)) throw badBody('The body is not valid UTF-8: encode its text so.');
  const text = withoutMark(raw.toString('utf8'));
  if (text.trim() === '') throw emptyBody();
  if (depthOf(raw) > DEEPEST_JSON) {
    const message = `The body has more than ${DEEPEST_JSON} lists and objects within each other: flatten it.`;
    throw invalidParam('body', message, { limit: DEEPEST_JSON });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = (error as Error).message.replace(/, ?(".*"|\.\.\..*) is not valid JSON$/s, '');
    const remedy = /^\s*[[{]\s*'/.test(text) ? ' JSON takes double quotes.' : '';
    throw badBody(`The body is not valid JSON: ${reason}.${remedy}`);
  }
  if (TRAPS.test(text)) refuseTraps(value);
  return value;
}

/** Some shells and editors begin every text with a byte order mark, which is no JSON. */
function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

/** What a trap cannot be written without: its name, or an escape. */
const TRAPS = /__proto__|\\u/;

/**
 * `__proto__` as a key is an own property for JSON.parse, and a prototype for code that copies it. Half of a surrogate pair
 * is no character: it cannot be stored as UTF-8, nor stand in a URL.
 */
function refuseTraps(value: unknown): void {
  if (typeof value === 'string') refuseHalfPairs(value);
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const entry of value) refuseTraps(entry);
    return;
  }
  for (const [key, entry] of Object.entries(value)) {
    if (key === '__proto__')
      throw badBody('The body has a key "__proto__", which is not allowed: rename it.');
    refuseHalfPairs(key);
    refuseTraps(entry);
  }
}

function refuseHalfPairs(text: string): void {
  if (!text.isWellFormed()) {
    throw badBody(
      'The body holds half of a surrogate pair (\\ud800 to \\udfff), which is no character: leave it out.',
    );
  }
}

/** How deeply lists and objects lie within each other, judged by the brackets outside of strings. */
function depthOf(json: Buffer): number {
  let depth = 0;
  let deepest = 0;
  let isInString = false;
  for (let index = 0; index < json.length; index += 1) {
    const byte = json[index];
    if (isInString) {
      if (byte === BACKSLASH) index += 1;
      else if (byte === QUOTE) isInString = false;
    } else if (byte === QUOTE) isInString = true;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) deepest = Math.max(deepest, ++depth);
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
  }
  return deepest;
}

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from('"\\[]{}');

function badBody(message: string): ApiError {
  return invalidParam('body', message);
}

function emptyBody(schema?: unknown): ApiError {
  const [example] = (schema as { examples?: unknown[] } | undefined)?.examples ?? [];
  const suchAs = example === undefined ? '' : `, such as ${JSON.stringify(example)}`;
  return badBody(`The body is empty: send a JSON document${suchAs}.`);
}

function unsupportedType(received: string, uploadsAt: string | undefined): ApiError {
  const bytesGo =
    uploadsAt !== undefined && /^(image|multipart)\//i.test(received)
      ? ` The bytes of an image go to ${uploadsAt}; this call only reserves an asset.`
      : '';
  const said =
    received === '' ? 'The body has no Content-Type' : `The Content-Type ${received} is not supported`;
  return new ApiError(
    'unsupported_media_type',
    `${said}: send the header "Content-Type: application/json".${bytesGo}`,
    { param: 'Content-Type', details: { supported: ['application/json'], received } },
  );
}

function unsupportedEncoding(received: string): ApiError {
  return new ApiError(
    'unsupported_media_type',
    `The Content-Encoding ${received} is not supported: send the body as it is.`,
    { param: 'Content-Encoding', details: { supported: ['identity'], received } },
  );
}

function hasBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
