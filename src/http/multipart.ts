import type { Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { FastifyRequest } from 'fastify';
import { type ApiError, invalidParam } from '../http/errors.ts';
import { tooLarge } from './input.ts';
import { IMAGE_LIMIT_BYTES, MULTIPART_LIMIT_BYTES } from './limits.ts';

const FIELD_LIMIT_BYTES = 1024 * 1024;
const FIELDS_LIMIT = 64;

export interface Multipart {
  file: { bytes: Uint8Array<ArrayBuffer>; declaredType: string | null; filename: string | null };
  /** Text fields by name; the last of equal names wins. */
  fields: Record<string, string>;
}

/**
 * Reads a multipart body with one `file` part. Other files are skipped, not kept.
 * @throws ApiError invalid_param on `file` without one, or on `body` when malformed; payload_too_large on `file`.
 */
export function readMultipart(request: FastifyRequest, body: Readable): Promise<Multipart> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > MULTIPART_LIMIT_BYTES) throw tooLarge('body', MULTIPART_LIMIT_BYTES);
  return new Promise((resolve, reject) => {
    const parser = openParser(request);
    const fields: Record<string, string> = Object.create(null);
    let file: Promise<Multipart['file']> | null = null;
    let received = 0;

    const fail = (error: unknown) => {
      body.unpipe(parser);
      body.resume();
      reject(error);
    };
    body.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received > MULTIPART_LIMIT_BYTES) fail(tooLarge('body', MULTIPART_LIMIT_BYTES));
    });
    body.once('error', fail);
    body.once('aborted', () => fail(malformed()));
    parser.on('file', (name, stream, filename, _encoding, type) => {
      if (name !== 'file' || file !== null) {
        stream.resume();
        return;
      }
      file = collectPart(stream).then((bytes) => ({
        bytes,
        declaredType: type === '' || type === 'application/octet-stream' ? null : type.toLowerCase(),
        filename: filename ?? null,
      }));
      file.catch(fail);
    });
    parser.on('field', (name, value) => {
      fields[name] = value;
    });
    parser.once('error', () => fail(malformed()));
    parser.once('finish', () => {
      if (file === null) fail(missingFile());
      else file.then((part) => resolve({ file: part, fields }), fail);
    });
    body.pipe(parser);
  });
}

function openParser(request: FastifyRequest): BusboyInstance {
  try {
    return new Busboy({
      headers: request.headers as { 'content-type': string },
      // One byte past the limit is enough to know.
      limits: {
        fileSize: IMAGE_LIMIT_BYTES + 1,
        fields: FIELDS_LIMIT,
        fieldSize: FIELD_LIMIT_BYTES,
        files: 8,
      },
    });
  } catch {
    throw malformed();
  }
}

async function collectPart(stream: Readable): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > IMAGE_LIMIT_BYTES) throw tooLarge('file', IMAGE_LIMIT_BYTES);
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

function missingFile(): ApiError {
  return invalidParam(
    'file',
    'The multipart body has no part named "file": send the image as one (curl: -F file=@photo.jpg).',
  );
}

function malformed(): ApiError {
  return invalidParam(
    'body',
    'The multipart body is malformed or was cut off: send it whole, with its boundary in Content-Type.',
  );
}
