import type { Readable } from 'node:stream';
import type { TSchema } from '@sinclair/typebox';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import { emptyBody, JSON_BODY_LIMIT_BYTES, LARGE_JSON_BYTES, parseJson } from './json.ts';
import { createLargeBodies } from './large-bodies.ts';
import { collect } from './streamed-body.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * `json` (default): the body is read, and parsed before validation. `optional`: so it is, and a call without one is
     * as one that sends `{}`. `stream`: the handler reads it itself.
     */
    body?: 'json' | 'optional' | 'stream';
    /** The JSON that may come instead of the bytes of an image, and so may a multipart `file`. Absent: bytes alone. */
    reference?: TSchema;
    /** Fields of text that a multipart body may have beside its file, as OpenAPI describes them. */
    formFields?: Record<string, TSchema>;
    /** The name of a second file that a multipart body has: such a body, or a reference, is all that is read. */
    secondFile?: string;
    /** Where the bytes of an image go that are sent here, as `METHOD /path`. */
    uploadsAt?: string;
  }
  interface FastifyRequest {
    /**
     * The JSON of a stream route, within the bounds and by the turns of all JSON bodies.
     * @throws ApiError as `installBodyParsing`; payload_too_large on `body` for too many bytes.
     */
    readJson(): Promise<unknown>;
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
 * Parses the kept bytes into `request.body`, large ones by turns of accounts. Runs after idempotency has judged them,
 * before validation.
 * @param ownerOf the account of a call.
 * @throws ApiError invalid_param on `body` for malformed JSON; payload_too_large for more values than a body may have.
 */
export function installBodyParsing(app: FastifyInstance, ownerOf: (request: FastifyRequest) => string): void {
  const large = createLargeBodies();
  app.decorateRequest('readJson', async function readJson() {
    const raw = await collect(this.body as Readable, this, JSON_BODY_LIMIT_BYTES, 'body');
    return raw.length > LARGE_JSON_BYTES ? large.parse(ownerOf(this), raw) : parseJson(raw);
  });
  app.addHook('preValidation', (request, _reply, done) => {
    const raw = rawBodies.get(request);
    if (raw !== undefined && raw.length > LARGE_JSON_BYTES) {
      return large.parse(ownerOf(request), raw).then((body) => {
        request.body = body;
      });
    }
    if (raw !== undefined) request.body = parseJson(raw);
    // No GET takes a body; a look at its route costs as much as this hook.
    else if (request.method !== 'GET') standIn(request);
    done();
  });
}

/** The value in place of JSON that was not sent; a route without a body schema needs none. */
function standIn(request: FastifyRequest): void {
  const { config, schema } = request.routeOptions;
  if (config.body === 'stream' || schema?.body === undefined) return;
  if (config.body !== 'optional') throw emptyBody(schema.body);
  request.body = {};
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
