import type { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { parseJson } from '../http/bodies.ts';
import { ApiError, invalidParam } from '../http/errors.ts';
import { IMAGE_LIMIT_BYTES } from './limits.ts';
import { readMultipart } from './multipart.ts';

const JSON_LIMIT_BYTES = 8 * 1024 * 1024;

/** What a call may say in a JSON body or in multipart fields, beside the image. The query wins over it. */
export interface BodyFields {
  op?: string;
  preset?: string;
  parameters?: Record<string, unknown>;
}

/** Where the image of a call comes from, and what the body said beside it. */
export type Input =
  | { kind: 'bytes'; bytes: Uint8Array<ArrayBuffer>; declaredType: string | null; fields: BodyFields }
  | { kind: 'url'; url: string; fields: BodyFields }
  | { kind: 'asset'; assetId: string; fields: BodyFields };

const SUPPORTED = ['image/*', 'multipart/form-data', 'application/json'];

/**
 * Refuses by the Content-Type alone, before the body is read.
 * @throws ApiError 415 unsupported_media_type, or 400 unsupported_format for bytes of no named format.
 */
export function checkContentType(request: FastifyRequest): void {
  const type = mediaTypeOf(request);
  if (type === 'application/octet-stream') {
    throw new ApiError(
      'unsupported_format',
      'application/octet-stream names no image format: send the image\'s own type, such as "Content-Type: image/jpeg".',
      { param: 'file' },
    );
  }
  if (type.startsWith('image/') || type === 'multipart/form-data' || type === 'application/json') return;
  const received = type === '' ? 'no Content-Type' : type;
  const hint =
    type === 'application/x-www-form-urlencoded'
      ? 'this is what curl sends with --data-binary unless told otherwise; add -H "Content-Type: image/jpeg" (the type of your file)'
      : 'send an image with its own type (such as image/jpeg), multipart/form-data with a file part, or application/json with url or assetId';
  throw new ApiError('unsupported_media_type', `${received} is not read here: ${hint}.`, {
    param: 'Content-Type',
    details: { supported: SUPPORTED, received: type },
  });
}

/**
 * Reads the body of a synchronous call: raw bytes, a multipart `file` part, or a JSON reference.
 * @throws ApiError payload_too_large on `file` or `body`, invalid_param on the field at fault.
 */
export async function readInput(request: FastifyRequest): Promise<Input> {
  const type = mediaTypeOf(request);
  const body = request.body as Readable;
  if (type === 'application/json')
    return referenceOf(parseJson(await collect(body, request, JSON_LIMIT_BYTES, 'body')));
  if (type === 'multipart/form-data') {
    const { file, fields } = await readMultipart(request, body);
    return { kind: 'bytes', ...file, fields: multipartFields(fields) };
  }
  const bytes = await collect(body, request, IMAGE_LIMIT_BYTES, 'file');
  return { kind: 'bytes', bytes, declaredType: type, fields: {} };
}

/**
 * Collects a stream into one buffer that owns its memory. A Content-Length tells the size, so that a whole body is
 * copied once; without one the buffer doubles as it fills.
 */
async function collect(
  stream: Readable,
  request: FastifyRequest,
  limitBytes: number,
  param: 'file' | 'body',
): Promise<Buffer<ArrayBuffer>> {
  const announced = Number(request.headers['content-length'] ?? Number.NaN);
  if (announced > limitBytes) throw tooLarge(param, limitBytes);
  let buffer = Buffer.from(new ArrayBuffer(Number.isNaN(announced) ? 64 * 1024 : announced));
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (length + chunk.length > limitBytes) throw tooLarge(param, limitBytes);
    if (length + chunk.length > buffer.length) buffer = grown(buffer, length, length + chunk.length);
    chunk.copy(buffer, length);
    length += chunk.length;
  }
  return length === buffer.length ? buffer : Buffer.from(buffer.buffer.slice(0, length));
}

function grown(buffer: Buffer<ArrayBuffer>, used: number, needed: number): Buffer<ArrayBuffer> {
  const larger = Buffer.from(new ArrayBuffer(Math.max(needed, buffer.length * 2)));
  buffer.copy(larger, 0, 0, used);
  return larger;
}

/** 413 with the limit in bytes. */
export function tooLarge(param: 'file' | 'body', limitBytes: number): ApiError {
  return new ApiError('payload_too_large', `The ${param} is over ${limitBytes} bytes: send a smaller one.`, {
    param,
    details: { limit: limitBytes },
  });
}

function mediaTypeOf(request: FastifyRequest): string {
  return (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

/** A JSON body: exactly one of `url` and `assetId`, and perhaps op, preset and parameters. */
function referenceOf(body: unknown): Input {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalidParam('body', 'The body must be a JSON object with url or assetId.');
  }
  const { assetId, url, op, preset, parameters } = body as Record<string, unknown>;
  const fields = checkedFields({ op, preset, parameters });
  if (assetId !== undefined && url !== undefined) throw invalidParam('url', 'Give assetId or url, not both.');
  if (url !== undefined) return { kind: 'url', url: textOf('url', url), fields };
  if (assetId !== undefined) return { kind: 'asset', assetId: textOf('assetId', assetId), fields };
  throw invalidParam('url', 'The image is missing: give its url, or the assetId of one of your assets.');
}

function multipartFields({ op, preset, parameters }: Record<string, string>): BodyFields {
  return checkedFields({
    op,
    preset,
    parameters: parameters === undefined ? undefined : parsed('parameters', parameters),
  });
}

function checkedFields({
  op,
  preset,
  parameters,
}: Record<'op' | 'preset' | 'parameters', unknown>): BodyFields {
  return {
    ...(op === undefined ? {} : { op: textOf('op', op) }),
    ...(preset === undefined ? {} : { preset: textOf('preset', preset) }),
    ...(parameters === undefined ? {} : { parameters: objectOf('parameters', parameters) }),
  };
}

function textOf(param: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw invalidParam(param, `${param} must be a text that is not empty.`);
}

function objectOf(param: string, value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw invalidParam(param, `${param} must be a JSON object.`);
}

function parsed(param: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidParam(param, `${param} must be the text of a JSON object.`);
  }
}
