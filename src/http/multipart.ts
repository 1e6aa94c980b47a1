import type { Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { FastifyRequest } from 'fastify';
import { type ApiError, invalidParam } from './errors.ts';
import { announcedBytes, tooLarge, within } from './streamed-body.ts';

const FIELD_LIMIT_BYTES = 1024 * 1024;
const FIELDS_LIMIT = 64;
const FILES_LIMIT = 8;

/** The `file` part while it streams. */
export interface FilePart {
  bytes: AsyncIterable<Buffer>;
  /** The part's own type in lower case; null when it names no image. */
  declaredType: string | null;
  filename: string | null;
}

export interface MultipartOptions<T> {
  bodyLimitBytes: number;
  fileLimitBytes: number;
  /** Takes the file's bytes to where they belong. Rejects when they end in an error, with that error. */
  take: (part: FilePart) => Promise<T>;
}

/**
 * Reads a multipart body with one `file` part, which is taken as it comes. Files of other names are skipped. Settles when the
 * taking has, so that nobody writes on behind a refusal.
 * @returns what became of the file, and the text fields by name.
 * @throws ApiError invalid_param on `file` without one or with two, on a field given twice, or on `body` when malformed; payload_too_large on `file` or
 *   `body`; what `take` throws.
 */
export async function readMultipart<T>(
  request: FastifyRequest,
  body: Readable,
  { bodyLimitBytes, fileLimitBytes, take }: MultipartOptions<T>,
): Promise<{ file: T; fields: Record<string, string> }> {
  if ((announcedBytes(request) ?? 0) > bodyLimitBytes) throw tooLarge('body', bodyLimitBytes);
  const parser = openParser(request, fileLimitBytes);
  const fields: Record<string, string> = Object.create(null);
  let part: Readable | null = null;
  let taken: Promise<T> | null = null;

  await new Promise<void>((resolve, reject) => {
    let received = 0;
    let hasFailed = false;
    const fail = (error: unknown) => {
      hasFailed = true;
      body.unpipe(parser);
      body.resume();
      part?.destroy(error as Error);
      Promise.allSettled([taken]).then(() => reject(error));
    };
    body.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received > bodyLimitBytes) fail(tooLarge('body', bodyLimitBytes));
    });
    body.once('error', () => fail(malformed()));
    body.once('aborted', () => fail(malformed()));
    parser.on('file', (name, stream, filename, _encoding, type) => {
      // Read or not: an error that nobody listens for would end the process. The parser tells of it as well.
      stream.on('error', () => undefined);
      if (name !== 'file') {
        stream.resume();
        return;
      }
      if (part !== null) {
        stream.resume();
        fail(secondFile());
        return;
      }
      part = stream;
      // Without a type of its own a part is text/plain; where the type names no image, the bytes decide.
      const declaredType = /^image\//i.test(type) ? type.toLowerCase() : null;
      const bytes = within(stream, fileLimitBytes, 'file');
      taken = take({ bytes, declaredType, filename: filename ?? null });
      taken.catch(fail);
    });
    parser.on('field', (name, value) => {
      if (name in fields) fail(invalidParam(name, `${name} is given more than once: send it once.`));
      fields[name] = value;
    });
    parser.on('error', () => fail(malformed()));
    // It finishes after an error too.
    parser.once('finish', () => !hasFailed && resolve());
    body.pipe(parser);
  });
  if (taken === null) throw missingFile('file' in fields);
  return { file: await taken, fields };
}

function openParser(request: FastifyRequest, fileLimitBytes: number): BusboyInstance {
  try {
    return new Busboy({
      headers: request.headers as { 'content-type': string },
      // One byte past the limit is enough to know.
      limits: {
        fileSize: fileLimitBytes + 1,
        fields: FIELDS_LIMIT,
        fieldSize: FIELD_LIMIT_BYTES,
        files: FILES_LIMIT,
      },
    });
  } catch {
    throw malformed();
  }
}

function missingFile(isText: boolean): ApiError {
  const found = isText ? 'a part named "file" that is text, not a file' : 'no part named "file"';
  return invalidParam(
    'file',
    `The multipart body has ${found}: send the image as one, with a file name (curl: -F file=@photo.jpg).`,
  );
}

function secondFile(): ApiError {
  return invalidParam(
    'file',
    'The multipart body has more than one part named "file": send one image a call.',
  );
}

function malformed(): ApiError {
  return invalidParam(
    'body',
    'The multipart body is malformed or was cut off: send it whole, with its boundary in Content-Type.',
  );
}
