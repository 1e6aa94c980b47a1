import type { TSchema } from '@sinclair/typebox';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError } from './errors.ts';

/** Largest JSON body, in bytes. */
export const JSON_BODY_LIMIT_BYTES = 8 * 1024 * 1024;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `json` (default): the body is read, and parsed before validation. `stream`: the handler reads it itself. */
    body?: 'json' | 'stream';
    /** The JSON that may come instead of the bytes of an image, and so may a multipart `file`. Absent: bytes alone. */
    reference?: TSchema;
  }
}

const rawBodies = new WeakMap<FastifyRequest, Buffer>();

/** The bytes of a JSON body as they came; undefined when there was none. */
export function rawBodyOf(request: FastifyRequest): Buffer | undefined {
  return rawBodies.get(request);
}

/**
 * Reads bodies. JSON is kept as bytes first, so that a request's sameness is judged on what was sent, and parsed by
 * `parseBody` when that is done. A stream route gets the raw stream, whatever its type.
 */
export function installBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (request: FastifyRequest, stream: NodeJS.ReadableStream) => {
    if (request.routeOptions.config.body === 'stream') return stream;
    if (!takesBody(request)) return undefined;
    const type = request.headers['content-type'] ?? '';
    if (!/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(type)) throw unsupportedType(type);
    const raw = await collect(stream, Number(request.headers['content-length'] ?? 0));
    rawBodies.set(request, raw);
    return undefined;
  });
  // Fastify runs no parser when a body comes without a Content-Type: that is a type not read, not an absent body.
  app.addHook('preParsing', async (request) => {
    const { headers, routeOptions } = request;
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
    if (!hasBody || headers['content-type'] !== undefined || routeOptions.config.body === 'stream') return;
    if (takesBody(request)) throw unsupportedType('');
  });
}

/**
 * Parses the kept bytes into `request.body`. Runs after idempotency has judged them, before validation.
 * @throws ApiError invalid_param on `body` for malformed JSON.
 */
export function installBodyParsing(app: FastifyInstance): void {
  app.addHook('preValidation', async (request) => {
    const raw = rawBodies.get(request);
    if (raw !== undefined) request.body = parseJson(raw);
  });
}

/**
 * JSON text as a value.
 * @throws ApiError invalid_param on `body` when empty or malformed.
 */
export function parseJson(raw: Buffer): unknown {
  const text = raw.toString('utf8');
  if (text.trim() === '')
    throw new ApiError('invalid_param', 'The body is empty: send a JSON document.', { param: 'body' });
  try {
    return JSON.parse(text, refusePrototype);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    const reason = (error as Error).message.replace(/, ?(".*"|\.\.\..*) is not valid JSON$/s, '');
    throw new ApiError('invalid_param', `The body is not valid JSON: ${reason}.`, { param: 'body' });
  }
}

/** `__proto__` as a key is an own property for JSON.parse, and a prototype for whoever copies it. */
function refusePrototype(this: unknown, key: string, value: unknown): unknown {
  if (key === '__proto__') {
    throw new ApiError('invalid_param', 'The body has a key "__proto__", which is not allowed: rename it.', {
      param: 'body',
    });
  }
  return value;
}

async function collect(stream: NodeJS.ReadableStream, announcedBytes: number): Promise<Buffer> {
  if (announcedBytes > JSON_BODY_LIMIT_BYTES) throw tooLarge();
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of stream) {
    sizeBytes += chunk.length;
    if (sizeBytes > JSON_BODY_LIMIT_BYTES) throw tooLarge();
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks, sizeBytes);
}

function tooLarge(): ApiError {
  return new ApiError(
    'payload_too_large',
    `The body is over ${JSON_BODY_LIMIT_BYTES} bytes: send a smaller one.`,
    {
      param: 'body',
      details: { limit: JSON_BODY_LIMIT_BYTES },
    },
  );
}

function unsupportedType(received: string): ApiError {
  const said =
    received === '' ? 'The body has no Content-Type' : `The Content-Type ${received} is not read here`;
  return new ApiError(
    'unsupported_media_type',
    `${said}: send the header "Content-Type: application/json".`,
    {
      details: { supported: ['application/json'], received },
    },
  );
}

/** A route without a body schema ignores what is sent with it. */
function takesBody(request: FastifyRequest): boolean {
  return request.routeOptions.schema?.body !== undefined;
}
