import type { Readable } from 'node:stream';
import type { TSchema } from '@sinclair/typebox';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { headerCorrections } from '../errors/corrections.ts';
import { ApiError, invalidParamError } from '../errors/errors.ts';
import { emptyBodyError, LARGE_JSON_BODY_BYTES, MAX_JSON_BODY_BYTES, parseJson } from './json.ts';
import { LargeBodyQueue } from './large-bodies.ts';
import { collectBody } from './streamed-body.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * `json` (default): the body is read and parsed before validation. `optional`: the same, and a missing body counts
     * as `{}`. `stream`: the handler reads it.
     */
    body?: 'json' | 'optional' | 'stream';
    /**
     * The schema of the JSON body of a route that also accepts an image as raw bytes or as a multipart `file`. If
     * absent, the route accepts only raw bytes, or also a multipart form if `formFields` is set.
     */
    reference?: TSchema;
    /** The text fields of the multipart form, for OpenAPI. */
    formFields?: Record<string, TSchema>;
    /** The name of the second file of the multipart form. The route then accepts only this form and JSON. */
    secondFile?: string;
    /** The names of files that the multipart form may have in addition to the first file, for OpenAPI. */
    furtherFiles?: readonly string[];
    /**
     * Another route that accepts the bytes of an image, as `METHOD /path`. If bytes are sent to the present route, the
     * error recommends it.
     */
    uploadsAt?: string;
  }
  interface FastifyRequest {
    /**
     * Parses the JSON body of a stream route, with the same limits and the same queue as all JSON bodies.
     * @throws ApiError as `installBodyParsing`; payload_too_large on `body` for too many bytes.
     */
    readJson(): Promise<unknown>;
  }
}

const rawBodies = new WeakMap<FastifyRequest, Buffer>();

/** The unparsed bytes of a JSON body; undefined without one. */
export function rawBodyOf(request: FastifyRequest): Buffer | undefined {
  return rawBodies.get(request);
}

/**
 * Reads bodies. JSON is first kept as bytes, because idempotency compares the bytes that were sent.
 * `installBodyParsing` parses it afterwards. A stream route gets the raw stream of any type. Fastify's own parsers only
 * pass the stream on. A refusal by them would close the connection while the client is still sending, so that it would
 * never see the response.
 */
export function installBodyReading(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (_request: FastifyRequest, stream: Readable) => stream);
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const { 'content-encoding': encoding = 'identity' } = request.headers;
    if (encoding.toLowerCase() !== 'identity' && hasBody(request)) throw unsupportedEncodingError(encoding);
    done();
  });
  // A promise is made only for a request with a body, because it costs time.
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
    if (!JSON_MEDIA_TYPE_PATTERN.test(type)) throw unsupportedTypeError(type, config.uploadsAt);
    if (stream === undefined) return;
    const raw = await collectBody(stream, request, MAX_JSON_BODY_BYTES, 'body');
    if (raw.length > 0) rawBodies.set(request, raw);
  }
}

/** Matches the media types of JSON. The charset can only be UTF-8, the only encoding of JSON between systems. */
const JSON_MEDIA_TYPE_PATTERN = /^application\/([\w.+-]+\+)?json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?;?$/i;

/**
 * Parses the stored bytes to `request.body`. For large bodies, accounts take turns. It runs after the hook for
 * idempotency, which compares the bytes, and before validation.
 * @param ownerOf the account of a call.
 * @throws ApiError invalid_param on `body` for malformed JSON; payload_too_large for a body with too many values.
 */
export function installBodyParsing(app: FastifyInstance, ownerOf: (request: FastifyRequest) => string): void {
  const large = new LargeBodyQueue();
  app.decorateRequest('readJson', async function readJson() {
    const raw = await collectBody(this.body as Readable, this, MAX_JSON_BODY_BYTES, 'body');
    refuseImage(raw);
    return raw.length > LARGE_JSON_BODY_BYTES ? large.parse(ownerOf(this), raw) : parseJson(raw);
  });
  app.addHook('preValidation', (request, _reply, done) => {
    const raw = rawBodies.get(request);
    if (raw !== undefined && raw.length > LARGE_JSON_BODY_BYTES) {
      return large.parse(ownerOf(request), raw).then((body) => {
        request.body = body;
      });
    }
    if (raw !== undefined) request.body = parseJson(raw);
    // No GET has a body, and reading the options of its route would cost as much as the rest of this hook.
    else if (request.method !== 'GET') requireOrDefaultBody(request);
    done();
  });
}

/** Sets an optional JSON body that is missing to `{}`; refuses the request if the body is required. */
function requireOrDefaultBody(request: FastifyRequest): void {
  const { config, schema } = request.routeOptions;
  if (config.body === 'stream' || schema?.body === undefined) return;
  if (config.body !== 'optional') throw emptyBodyError(schema.body);
  request.body = {};
}

/** How the files of each media type begin, as Latin-1 text. */
const IMAGE_SIGNATURES: Readonly<Record<string, RegExp>> = {
  'image/jpeg': /^\xff\xd8\xff/,
  'image/png': /^\x89PNG/,
  'image/gif': /^GIF8/,
  'image/webp': /^RIFF.{4}WEBP/s,
  'image/avif': /^.{4}ftypavif/s,
};

/** Refuses an image that was sent as JSON. */
function refuseImage(raw: Buffer): void {
  const beginning = raw.toString('latin1', 0, 12);
  const type = Object.keys(IMAGE_SIGNATURES).find((one) => IMAGE_SIGNATURES[one]?.test(beginning));
  if (type === undefined) return;
  const message = `The body is a file of ${type}, but its Content-Type says JSON: send the header "Content-Type: ${type}".`;
  throw invalidParamError('body', message, undefined, headerCorrections('Content-Type', type));
}

function unsupportedTypeError(received: string, uploadsAt: string | undefined): ApiError {
  const isFile = /^(image|multipart)\//i.test(received);
  const hint =
    uploadsAt !== undefined && isFile
      ? ` The bytes of an image go to ${uploadsAt}; this call only reserves an asset.`
      : '';
  const problem =
    received === '' ? 'The body has no Content-Type' : `The Content-Type ${received} is not supported`;
  return new ApiError(
    'unsupported_media_type',
    `${problem}: send the header "Content-Type: application/json".${hint}`,
    {
      param: 'Content-Type',
      details: { supported: ['application/json'], received, ...(hint !== '' && { suggest: [uploadsAt] }) },
    },
  );
}

function unsupportedEncodingError(received: string): ApiError {
  return new ApiError(
    'unsupported_media_type',
    `The Content-Encoding ${received} is not supported: send the body as it is.`,
    { param: 'Content-Encoding', details: { supported: ['identity'], received } },
  );
}

function hasBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
