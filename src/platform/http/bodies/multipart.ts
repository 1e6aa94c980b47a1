import { Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { FastifyRequest } from 'fastify';
import { type ApiError, invalidParamError } from '../errors/errors.ts';
import { keepFullFileNames, stopParsing } from './form-parser.ts';
import { LARGE_JSON_BODY_BYTES } from './json.ts';
import { announcedBytes, bodyTooLargeError, discardBody, limitBody } from './streamed-body.ts';

/** The most bytes of a text field: JSON of this size is parsed within a few milliseconds. */
const MAX_FIELD_BYTES = LARGE_JSON_BODY_BYTES;
const MAX_FIELDS = 64;
/** The headers of a part are its name, its file name and its type: these are far more than they take. */
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_HEADERS = 32;
/** The most files of other names. */
const MAX_OTHER_FILES = 31;

/** The stream of a `file` part. Disposing of it early reads and drops the rest of the part. */
export interface MultipartFile extends Disposable {
  bytes: AsyncIterable<Buffer>;
  /** The Content-Type of the part in lower case; null if it is not an image type. */
  declaredType: string | null;
  filename: string | null;
}

/** A whole file besides the first one. */
export interface AdditionalFile {
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
  /** As that of the first file. */
  declaredType: string | null;
}

interface MultipartOptions {
  /** For each file of the body. */
  bodyLimitBytes: number;
  fileLimitBytes: number;
  /** The most parts named `file`. Absent: one. */
  maxFiles?: number;
  /** The additional files that are kept besides `file`. Absent: none. */
  further?: {
    /** What the error about a second `file` advises. */
    remedy: string;
    keeps(name: string): boolean;
  };
}

/**
 * A multipart body whose first file has begun. The rest is read while that file is read. Files with other names are
 * skipped, unless they are to be kept. Disposing of it early reads and drops the rest, so that the client gets its
 * response.
 */
export class Multipart implements Disposable {
  readonly #body: Readable;
  readonly #options: MultipartOptions;
  readonly #maxFiles: number;
  readonly #parser: BusboyInstance;
  readonly #fields: Record<string, string> = Object.create(null);
  /** The names of the files besides `file`; complete when `fields` resolves. */
  readonly otherNames: string[] = [];
  readonly #kept: Promise<AdditionalFile>[] = [];
  /** The parts named `file`. */
  readonly #parts: Readable[] = [];
  readonly #found = Promise.withResolvers<MultipartFile>();
  readonly #otherFiles = new Readable({ objectMode: true, read: () => undefined });
  readonly #ended = Promise.withResolvers<void>();
  #file: MultipartFile | undefined;
  #hasFailed = false;
  #received = 0;

  private constructor(request: FastifyRequest, body: Readable, options: MultipartOptions) {
    this.#body = body;
    this.#options = options;
    this.#maxFiles = options.maxFiles ?? 1;
    this.#parser = openParser(request, options.fileLimitBytes, this.#maxFiles);
    // Without a listener, an error would end the process. The readers of the files get the error anyway.
    this.#otherFiles.on('error', () => undefined);
    // After an error of the file, the caller does not await the fields.
    this.#ended.promise.catch(() => undefined);
  }

  /**
   * Reads a multipart body up to its `file` part.
   * @throws ApiError invalid_param on `file` without one or with too many, on a field given twice, or on `body` when
   *   malformed or of too many parts; payload_too_large on `file` or `body`. A fault that is found while the file is
   *   read ends its stream with the same error.
   */
  static async open(request: FastifyRequest, body: Readable, options: MultipartOptions): Promise<Multipart> {
    const { maxFiles = 1, bodyLimitBytes } = options;
    if ((announcedBytes(request) ?? 0) > maxFiles * bodyLimitBytes)
      throw bodyTooLargeError('body', bodyLimitBytes);
    const multipart = new Multipart(request, body, options);
    multipart.#parse();
    multipart.#file = await multipart.#found.promise;
    return multipart;
  }

  /** The first part named `file`. */
  get file(): MultipartFile {
    if (this.#file === undefined) throw new Error('A multipart body is opened when its file begins.');
    return this.#file;
  }

  /** The further parts named `file`. Each must be read, or disposed of, before the next one arrives. */
  get otherFiles(): AsyncIterable<MultipartFile> {
    return this.#otherFiles;
  }

  /**
   * The text fields by name, whether before or after the file. Resolves at the end of the body, so its files must be
   * read first.
   * @throws ApiError for an error after the file.
   */
  async fields(): Promise<Record<string, string>> {
    await this.#ended.promise;
    return this.#fields;
  }

  /**
   * The kept files in the order sent, whether before or after the first `file`. Resolves like `fields`.
   * @throws ApiError payload_too_large on the name of a file, or as `fields`.
   */
  async further(): Promise<AdditionalFile[]> {
    await this.#ended.promise;
    return Promise.all(this.#kept);
  }

  [Symbol.dispose](): void {
    this.#leave();
  }

  #parse(): void {
    const body = this.#body;
    const parser = this.#parser;
    body.on('data', (chunk: Buffer) => {
      this.#received += chunk.length;
      // Another file may begin later in this chunk.
      this.#checkSize(Math.min(this.#parts.length + 1, this.#maxFiles));
    });
    body.once('error', () => this.#fail(malformed()));
    body.once('aborted', () => this.#fail(malformed()));
    parser.on('file', (name, stream, filename, _encoding, type) => {
      // Without a listener, an error would end the process. The parser reports the same error.
      stream.on('error', () => undefined);
      // A part without a type is text/plain; if the type is not of an image, the bytes decide.
      const declaredType = /^image\//i.test(type) ? type.toLowerCase() : null;
      if (name === 'file' && !this.#hasFailed) this.#takeFile(stream, filename ?? null, declaredType);
      else this.#takeOther(name, stream, declaredType);
    });
    for (const limit of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const)
      parser.on(limit, () => this.#fail(tooManyParts()));
    parser.on('field', (name, value, _nameIsCut, isCut) => {
      if (isCut) this.#fail(bodyTooLargeError(`field ${name}`, MAX_FIELD_BYTES, name));
      if (name in this.#fields)
        this.#fail(invalidParamError(name, `${name} is given more than once: send it once.`));
      this.#fields[name] = value;
    });
    parser.on('error', () => this.#fail(malformed()));
    parser.once('finish', () => this.#finish());
    body.pipe(parser);
  }

  #takeFile(stream: Readable, filename: string | null, declaredType: string | null): void {
    if (this.#parts.length === this.#maxFiles) {
      stream.resume();
      const { further } = this.#options;
      this.#fail(this.#maxFiles === 1 ? secondFile(further?.remedy) : tooManyFiles(this.#maxFiles));
      return;
    }
    const file = {
      bytes: limitBody(stream, this.#options.fileLimitBytes, 'file'),
      declaredType,
      filename,
      [Symbol.dispose]: () => void stream.resume(),
    };
    if (this.#parts.push(stream) === 1) this.#found.resolve(file);
    else this.#otherFiles.push(file);
  }

  #takeOther(name: string, stream: Readable, declaredType: string | null): void {
    this.otherNames.push(name);
    if (this.#hasFailed || this.#options.further?.keeps(name) !== true) {
      stream.resume();
      return;
    }
    // Each file is joined when it ends: all of them at once would hold up the event loop.
    const file = Array.fromAsync(limitBody(stream, this.#options.fileLimitBytes, name)).then(
      (chunks): AdditionalFile => ({ name, bytes: concatenateBytes(chunks), declaredType }),
    );
    file.catch((error) => this.#fail(error));
    this.#kept.push(file);
  }

  #finish(): void {
    this.#checkSize(Math.max(1, this.#parts.length));
    // This event occurs after an error as well.
    if (this.#hasFailed) return;
    this.#found.reject(missingFile('file' in this.#fields, this.otherNames));
    this.#otherFiles.push(null);
    this.#ended.resolve();
  }

  #checkSize(files: number): void {
    const { bodyLimitBytes } = this.#options;
    if (this.#received > files * bodyLimitBytes) this.#fail(bodyTooLargeError('body', bodyLimitBytes));
  }

  #fail(error: ApiError): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#leave(error);
    this.#found.reject(error);
    this.#ended.reject(error);
  }

  #leave(error?: Error): void {
    this.#body.unpipe(this.#parser);
    stopParsing(this.#parser);
    discardBody(this.#body);
    for (const part of this.#parts) part.destroy(error);
    this.#otherFiles.destroy(error);
  }
}

/** Joins chunks to one array with its own memory. */
export function concatenateBytes(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

function openParser(request: FastifyRequest, fileLimitBytes: number, maxFiles: number): BusboyInstance {
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
        headerPairs: MAX_HEADERS,
        headerSize: MAX_HEADER_BYTES,
        files,
        parts: files + MAX_FIELDS,
      },
    });
    keepFullFileNames(parser);
    return parser;
  } catch {
    throw malformed();
  }
}

/**
 * The error for a body without a file.
 * @param otherNames the names of the other files in the body.
 */
function missingFile(isText: boolean, otherNames: readonly string[]): ApiError {
  const [other, another] = otherNames;
  const found = isText
    ? 'a part named "file" that is text, not a file'
    : `no part named "file"${other === undefined ? '' : `, but one named ${JSON.stringify(other)}`}`;
  return invalidParamError(
    'file',
    `The multipart body has ${found}: send the image as one, with a file name (curl: -F file=@photo.jpg).`,
    { missing: ['file'], received: other },
    other === undefined || another !== undefined ? [] : [{ param: other, rename: 'file', in: 'part' }],
  );
}

function secondFile(remedy = 'send one image per call'): ApiError {
  return invalidParamError('file', `The multipart body has more than one part named "file": ${remedy}.`);
}

function tooManyFiles(limit: number): ApiError {
  const message = `The multipart body has more than ${limit} parts named "file": send the others in another call.`;
  return invalidParamError('file', message, { limit });
}

function tooManyParts(): ApiError {
  const message = `The multipart body has too many parts: send at most ${MAX_FIELDS} fields, and ${MAX_OTHER_FILES} files besides file.`;
  return invalidParamError('body', message, { limit: MAX_FIELDS });
}

function malformed(): ApiError {
  return invalidParamError(
    'body',
    'The multipart body is malformed or was cut off: send it whole, with its boundary in Content-Type.',
  );
}
