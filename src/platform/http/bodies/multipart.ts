import type { Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { FastifyRequest } from 'fastify';
import { MEGABYTE } from '../../values/units.ts';
import { type ApiError, invalidParam } from '../errors/errors.ts';
import { readFullNames } from './file-names.ts';
import { announcedBytes, drop, tooLarge, within } from './streamed-body.ts';

const MAX_FIELD_BYTES = MEGABYTE;
const MAX_FIELDS = 64;
const MAX_FILES = 8;

/** The stream of the `file` part. */
export interface FilePart {
  bytes: AsyncIterable<Buffer>;
  /** The Content-Type of the part in lower case; null when it is not of an image. */
  declaredType: string | null;
  filename: string | null;
}

interface MultipartLimits {
  bodyLimitBytes: number;
  fileLimitBytes: number;
  /** The name of a second file to read. */
  second?: string;
}

/**
 * A multipart body whose file has begun. When it is disposed of early, the rest is read and dropped, so that the client
 * gets its response.
 */
interface Multipart extends Disposable {
  file: FilePart;
  /**
   * The text fields by name, before or after the file. Resolves at the end of the body, so the file has to be read
   * first.
   * @throws ApiError for a fault after the file.
   */
  fields(): Promise<Record<string, string>>;
  /** The names of the files that were skipped; complete when `fields` resolves. */
  skipped: readonly string[];
  /**
   * The whole second file, before or after the first; null without one. Resolves like `fields`.
   * @throws ApiError payload_too_large on its name, or as `fields`.
   */
  second(): Promise<{ bytes: Uint8Array<ArrayBuffer>; declaredType: string | null } | null>;
}

/**
 * Reads a multipart body up to its `file` part; the rest is read while the file is read. Files of other names are
 * skipped.
 * @throws ApiError invalid_param on `file` without one or with two, on a field given twice, or on `body` when
 *   malformed; payload_too_large on `file` or `body`. A fault that is found while the file is read ends its stream with
 *   the same error.
 */
export async function openMultipart(
  request: FastifyRequest,
  body: Readable,
  { bodyLimitBytes, fileLimitBytes, second }: MultipartLimits,
): Promise<Multipart> {
  if ((announcedBytes(request) ?? 0) > bodyLimitBytes) throw tooLarge('body', bodyLimitBytes);
  const parser = openParser(request, fileLimitBytes);
  const fields: Record<string, string> = Object.create(null);
  const found = Promise.withResolvers<FilePart>();
  const ended = Promise.withResolvers<void>();
  // After an error of the file, the caller does not await the fields.
  ended.promise.catch(() => undefined);
  const otherNames: string[] = [];
  let secondPart: { bytes: Promise<Buffer[]>; declaredType: string | null } | null = null;
  let part: Readable | null = null;
  let hasFailed = false;
  let received = 0;

  function leave(error?: Error): void {
    body.unpipe(parser);
    drop(body);
    part?.destroy(error);
  }

  function fail(error: ApiError): void {
    hasFailed = true;
    leave(error);
    found.reject(error);
    ended.reject(error);
  }

  body.on('data', (chunk: Buffer) => {
    received += chunk.length;
    if (received > bodyLimitBytes) fail(tooLarge('body', bodyLimitBytes));
  });
  body.once('error', () => fail(malformed()));
  body.once('aborted', () => fail(malformed()));
  parser.on('file', (name, stream, filename, _encoding, type) => {
    // Without a listener, an error would end the process. The parser reports the same error.
    stream.on('error', () => undefined);
    // A part without a type is text/plain; if the type is not of an image, the bytes decide.
    const declaredType = /^image\//i.test(type) ? type.toLowerCase() : null;
    if (name === second && secondPart === null) {
      const bytes = Array.fromAsync(within(stream, fileLimitBytes, name));
      bytes.catch(fail);
      secondPart = { bytes, declaredType };
      return;
    }
    if (name !== 'file') {
      otherNames.push(name);
      stream.resume();
      return;
    }
    if (part !== null) {
      stream.resume();
      fail(secondFile(second));
      return;
    }
    part = stream;
    found.resolve({
      bytes: within(stream, fileLimitBytes, 'file'),
      declaredType,
      filename: filename ?? null,
    });
  });
  parser.on('field', (name, value) => {
    if (name in fields) fail(invalidParam(name, `${name} is given more than once: send it once.`));
    fields[name] = value;
  });
  parser.on('error', () => fail(malformed()));
  parser.once('finish', () => {
    // This event occurs after an error as well.
    if (hasFailed) return;
    found.reject(missingFile('file' in fields, otherNames));
    ended.resolve();
  });
  body.pipe(parser);
  return {
    file: await found.promise,
    fields: () => ended.promise.then(() => fields),
    skipped: otherNames,
    async second() {
      await ended.promise;
      return (
        secondPart && { bytes: concatenated(await secondPart.bytes), declaredType: secondPart.declaredType }
      );
    },
    [Symbol.dispose]: () => leave(),
  };
}

/** Joins chunks to one buffer with its own memory. */
export function concatenated(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

function openParser(request: FastifyRequest, fileLimitBytes: number): BusboyInstance {
  try {
    const parser = new Busboy({
      headers: request.headers as { 'content-type': string },
      // One byte beyond the limit is enough to refuse the file.
      limits: {
        fileSize: fileLimitBytes + 1,
        fields: MAX_FIELDS,
        fieldSize: MAX_FIELD_BYTES,
        files: MAX_FILES,
      },
    });
    readFullNames(parser);
    return parser;
  } catch {
    throw malformed();
  }
}

/** @param otherNames the names of the other files in the body. */
function missingFile(isText: boolean, otherNames: readonly string[]): ApiError {
  const [other] = otherNames;
  const found = isText
    ? 'a part named "file" that is text, not a file'
    : `no part named "file"${other === undefined ? '' : `, but one named ${JSON.stringify(other)}`}`;
  return invalidParam(
    'file',
    `The multipart body has ${found}: send the image as one, with a file name (curl: -F file=@photo.jpg).`,
  );
}

/** @param second the name of the second file, for calls with two. */
function secondFile(second: string | undefined): ApiError {
  const remedy = second === undefined ? 'send one image per call' : `name the second one "${second}"`;
  return invalidParam('file', `The multipart body has more than one part named "file": ${remedy}.`);
}

function malformed(): ApiError {
  return invalidParam(
    'body',
    'The multipart body is malformed or was cut off: send it whole, with its boundary in Content-Type.',
  );
}
