import { Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { FastifyRequest } from 'fastify';
import { MEGABYTE } from '../../values/units.ts';
import { type ApiError, invalidParam } from '../errors/errors.ts';
import { readFullNames } from './file-names.ts';
import { announcedBytes, drop, tooLarge, within } from './streamed-body.ts';

const MAX_FIELD_BYTES = MEGABYTE;
const MAX_FIELDS = 64;
/** The most files of other names. */
const MAX_OTHER_FILES = 31;

/** The stream of a `file` part. When it is disposed of early, the rest of the part is read and dropped. */
export interface FilePart extends Disposable {
  bytes: AsyncIterable<Buffer>;
  /** The Content-Type of the part in lower case; null when it is not of an image. */
  declaredType: string | null;
  filename: string | null;
}

/** A whole file besides the first one. */
export interface FurtherFile {
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
  /** As that of the first file. */
  declaredType: string | null;
}

interface MultipartOptions {
  /** For each file of the body. */
  bodyLimitBytes: number;
  fileLimitBytes: number;
  /** The most parts named `file`; one unless told. */
  maxFiles?: number;
  /** The files that are kept besides `file`. Absent: none. */
  further?: {
    /** What the refusal of a second `file` says to do. */
    remedy: string;
    keeps(name: string): boolean;
  };
}

/**
 * A multipart body whose file has begun. When it is disposed of early, the rest is read and dropped, so that the client
 * gets its response.
 */
interface Multipart extends Disposable {
  file: FilePart;
  /** The further parts named `file`. Each has to be read, or disposed of, before the next one comes. */
  otherFiles: AsyncIterable<FilePart>;
  /**
   * The text fields by name, before or after the file. Resolves at the end of the body, so its files have to be read
   * first.
   * @throws ApiError for a fault after the file.
   */
  fields(): Promise<Record<string, string>>;
  /** The names of the files besides `file`; complete when `fields` resolves. */
  otherNames: readonly string[];
  /**
   * The files that are kept, in the order sent, before or after the first. Resolves like `fields`.
   * @throws ApiError payload_too_large on the name of one, or as `fields`.
   */
  further(): Promise<FurtherFile[]>;
}

/**
 * Reads a multipart body up to its `file` part; the rest is read while the file is read. Files of other names are
 * skipped, except for those to keep.
 * @throws ApiError invalid_param on `file` without one or with too many, on a field given twice, or on `body` when
 *   malformed or of too many parts; payload_too_large on `file` or `body`. A fault that is found while the file is read
 *   ends its stream with the same error.
 */
export async function openMultipart(
  request: FastifyRequest,
  body: Readable,
  { bodyLimitBytes, fileLimitBytes, further, maxFiles = 1 }: MultipartOptions,
): Promise<Multipart> {
  if ((announcedBytes(request) ?? 0) > maxFiles * bodyLimitBytes) throw tooLarge('body', bodyLimitBytes);
  const parser = openParser(request, { fileLimitBytes, maxFiles });
  const fields: Record<string, string> = Object.create(null);
  const found = Promise.withResolvers<FilePart>();
  const otherFiles = new Readable({ objectMode: true, read: () => undefined });
  // Without a listener, an error would end the process. Those who read the files get it.
  otherFiles.on('error', () => undefined);
  const ended = Promise.withResolvers<void>();
  // After an error of the file, the caller does not await the fields.
  ended.promise.catch(() => undefined);
  const otherNames: string[] = [];
  const kept: (Omit<FurtherFile, 'bytes'> & { chunks: Promise<Buffer[]> })[] = [];
  const parts: Readable[] = [];
  let hasFailed = false;
  let received = 0;

  function leave(error?: Error): void {
    body.unpipe(parser);
    drop(body);
    for (const part of parts) part.destroy(error);
    otherFiles.destroy(error);
  }

  function fail(error: ApiError): void {
    if (hasFailed) return;
    hasFailed = true;
    leave(error);
    found.reject(error);
    ended.reject(error);
  }

  function checkSize(files: number): void {
    if (received > files * bodyLimitBytes) fail(tooLarge('body', bodyLimitBytes));
  }

  body.on('data', (chunk: Buffer) => {
    received += chunk.length;
    // Another file may begin later in this chunk.
    checkSize(Math.min(parts.length + 1, maxFiles));
  });
  body.once('error', () => fail(malformed()));
  body.once('aborted', () => fail(malformed()));
  parser.on('file', (name, stream, filename, _encoding, type) => {
    // Without a listener, an error would end the process. The parser reports the same error.
    stream.on('error', () => undefined);
    // A part without a type is text/plain; if the type is not of an image, the bytes decide.
    const declaredType = /^image\//i.test(type) ? type.toLowerCase() : null;
    if (name !== 'file' || hasFailed) {
      otherNames.push(name);
      if (hasFailed || further?.keeps(name) !== true) {
        stream.resume();
        return;
      }
      const chunks = Array.fromAsync(within(stream, fileLimitBytes, name));
      chunks.catch(fail);
      kept.push({ name, declaredType, chunks });
      return;
    }
    if (parts.length === maxFiles) {
      stream.resume();
      fail(maxFiles === 1 ? secondFile(further?.remedy) : tooManyFiles(maxFiles));
      return;
    }
    const file = {
      bytes: within(stream, fileLimitBytes, 'file'),
      declaredType,
      filename: filename ?? null,
      [Symbol.dispose]: () => void stream.resume(),
    };
    if (parts.push(stream) === 1) found.resolve(file);
    else otherFiles.push(file);
  });
  for (const limit of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const)
    parser.on(limit, () => fail(tooManyParts()));
  parser.on('field', (name, value) => {
    if (name in fields) fail(invalidParam(name, `${name} is given more than once: send it once.`));
    fields[name] = value;
  });
  parser.on('error', () => fail(malformed()));
  parser.once('finish', () => {
    checkSize(Math.max(1, parts.length));
    // This event occurs after an error as well.
    if (hasFailed) return;
    found.reject(missingFile('file' in fields, otherNames));
    otherFiles.push(null);
    ended.resolve();
  });
  body.pipe(parser);
  return {
    file: await found.promise,
    otherFiles,
    fields: () => ended.promise.then(() => fields),
    otherNames,
    async further() {
      await ended.promise;
      const files: FurtherFile[] = [];
      for (const { chunks, ...file } of kept) files.push({ ...file, bytes: concatenated(await chunks) });
      return files;
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

function openParser(
  request: FastifyRequest,
  { fileLimitBytes, maxFiles }: { fileLimitBytes: number; maxFiles: number },
): BusboyInstance {
  // One file beyond the limit is enough to refuse them by name.
  const files = maxFiles + 1 + MAX_OTHER_FILES;
  try {
    const parser = new Busboy({
      headers: request.headers as { 'content-type': string },
      // One byte beyond the limit is enough to refuse the file.
      limits: {
        fileSize: fileLimitBytes + 1,
        fields: MAX_FIELDS,
        fieldSize: MAX_FIELD_BYTES,
        files,
        parts: files + MAX_FIELDS,
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

function secondFile(remedy = 'send one image per call'): ApiError {
  return invalidParam('file', `The multipart body has more than one part named "file": ${remedy}.`);
}

function tooManyFiles(limit: number): ApiError {
  const message = `The multipart body has more than ${limit} parts named "file": send the others in another call.`;
  return invalidParam('file', message, { limit });
}

function tooManyParts(): ApiError {
  const message = `The multipart body has too many parts: send at most ${MAX_FIELDS} fields, and ${MAX_OTHER_FILES} files besides file.`;
  return invalidParam('body', message, { limit: MAX_FIELDS });
}

function malformed(): ApiError {
  return invalidParam(
    'body',
    'The multipart body is malformed or was cut off: send it whole, with its boundary in Content-Type.',
  );
}
