import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { FastifyRequest } from 'fastify';
import { MEGABYTE_BYTES } from '../../values/units.ts';
import { type ApiError, invalidParamError } from '../errors/errors.ts';
import { keepFullFileNames, stopParsing } from './form-parser.ts';
import { LARGE_JSON_BODY_BYTES } from './json.ts';
import { announcedBytes, bodyTooLargeError, discardBody, limitBody } from './streamed-body.ts';

/** The most bytes of a text field: JSON of this size is parsed within a few milliseconds. */
const MAX_TEXT_FIELD_BYTES = LARGE_JSON_BODY_BYTES;
const MAX_FORM_FIELDS = 64;
/** The most bytes of the headers of a part: its name, its file name and its type take far less. */
const MAX_PART_HEADER_BYTES = 16 * 1024;
const MAX_PART_HEADERS = 32;
/** The most files whose part is not named `file`. */
const MAX_ADDITIONAL_FILES = 31;

/** The stream of a `file` part. Disposing of it early reads and drops the rest of the part. */
export interface MultipartFile extends Disposable {
  bytes: AsyncIterable<Buffer>;
  /** The Content-Type of the part in lower case; null if it is not an image type. */
  declaredType: string | null;
  filename: string | null;
}

/** A file whose part is not named `file`, completely read. */
export interface AdditionalFile {
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
  /** The Content-Type that the part declares; null if it declares none. */
  declaredType: string | null;
}

interface MultipartOptions {
  bodyLimitBytes: number;
  fileLimitBytes: number;
  /** The most parts named `file`; one if absent. */
  maxFiles?: number;
  /** Which files are kept in addition to `file`; none if absent. */
  further?: {
    /** The advice in the error about a second `file`. */
    remedy: string;
    keeps(name: string): boolean;
    /** The name of a second file that the call needs. */
    needs?: string;
  };
}

/**
 * A multipart body whose first file has begun. The rest is read while that file is read. Files with other names are
 * skipped, unless the options keep them. Disposing of it early reads and drops the rest, so that the client gets its
 * response.
 */
export class Multipart implements Disposable {
  readonly #body: Readable;
  readonly #options: MultipartOptions;
  readonly #maxFiles: number;
  readonly #parser: BusboyInstance;
  readonly #fields: Record<string, string> = Object.create(null);
  /** The part names of all files that are not named `file`. They are complete when `fields` resolves. */
  readonly otherFileNames: string[] = [];
  readonly #additionalFiles: Promise<AdditionalFile>[] = [];
  /** The parts named `file` that have begun, in the order sent. */
  readonly #fileParts: Readable[] = [];
  readonly #firstFile = Promise.withResolvers<MultipartFile>();
  readonly #laterFiles = new Readable({ objectMode: true, read: () => undefined });
  readonly #ended = Promise.withResolvers<void>();
  #file: MultipartFile | undefined;
  #hasFailed = false;
  #received = 0;

  private constructor(request: FastifyRequest, body: Readable, options: MultipartOptions) {
    this.#body = body;
    this.#options = options;
    this.#maxFiles = options.maxFiles ?? 1;
    this.#parser = createParser(request, options.fileLimitBytes, this.#maxFiles);
    // Without a listener, an error would end the process. The readers of the files get the error anyway.
    this.#laterFiles.on('error', () => undefined);
    // If the file fails, the caller does not await the fields, and their rejection would end the process.
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
    multipart.#file = await multipart.#firstFile.promise;
    return multipart;
  }

  /** The first part named `file`. */
  get file(): MultipartFile {
    if (this.#file === undefined) throw new Error('A multipart body is opened when its file begins.');
    return this.#file;
  }

  /** The further parts named `file`. Each must be read, or disposed of, before the next one arrives. */
  get laterFiles(): AsyncIterable<MultipartFile> {
    return this.#laterFiles;
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
  async additionalFiles(): Promise<AdditionalFile[]> {
    await this.#ended.promise;
    return Promise.all(this.#additionalFiles);
  }

  [Symbol.dispose](): void {
    this.#stopReading();
  }

  #parse(): void {
    const body = this.#body;
    const parser = this.#parser;
    body.on('data', (chunk: Buffer) => {
      this.#received += chunk.length;
      // The limit allows for one more file than has begun, because another file may begin later in this chunk.
      this.#checkSize(Math.min(this.#fileParts.length + 1, this.#maxFiles));
    });
    body.once('error', () => this.#fail(malformedFormError()));
    body.once('aborted', () => this.#fail(malformedFormError()));
    parser.on('file', (name, stream, filename, _encoding, type) => {
      // Without a listener, an error would end the process. The parser reports the same error.
      stream.on('error', () => undefined);
      // If the type is not of an image (text/plain if the part has none), the bytes decide the format.
      const declaredType = /^image\//i.test(type) ? type.toLowerCase() : null;
      if (name === 'file' && !this.#hasFailed) this.#acceptFile(stream, filename ?? null, declaredType);
      else this.#acceptOtherFile(name, stream, declaredType);
    });
    for (const limit of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const)
      parser.on(limit, () => this.#fail(tooManyPartsError()));
    parser.on('field', (name, value, _nameIsCut, isCut) => {
      if (isCut) this.#fail(bodyTooLargeError(`field ${name}`, MAX_TEXT_FIELD_BYTES, name));
      if (name in this.#fields)
        this.#fail(invalidParamError(name, `${name} is given more than once: send it once.`));
      this.#fields[name] = value;
    });
    parser.on('error', () => this.#fail(malformedFormError()));
    parser.once('finish', () => this.#finish());
    body.pipe(parser);
  }

  #acceptFile(stream: Readable, filename: string | null, declaredType: string | null): void {
    if (this.#fileParts.length === this.#maxFiles) {
      stream.resume();
      const { further } = this.#options;
      this.#fail(this.#maxFiles === 1 ? secondFileError(further?.remedy) : tooManyFilesError(this.#maxFiles));
      return;
    }
    const file = {
      bytes: limitBody(stream, this.#options.fileLimitBytes, 'file'),
      declaredType,
      filename,
      [Symbol.dispose]: () => void stream.resume(),
    };
    if (this.#fileParts.push(stream) === 1) this.#firstFile.resolve(file);
    else this.#laterFiles.push(file);
  }

  #acceptOtherFile(name: string, stream: Readable, declaredType: string | null): void {
    this.otherFileNames.push(name);
    if (this.#hasFailed || this.#options.further?.keeps(name) !== true) {
      stream.resume();
      return;
    }
    // The chunks of each file are joined when it ends, because joining all files at once would block the event loop.
    const file = Array.fromAsync(limitBody(stream, this.#options.fileLimitBytes, name))
      .then(concatenateBytes)
      .then((bytes): AdditionalFile => ({ name, bytes, declaredType }));
    file.catch((error) => this.#fail(error));
    this.#additionalFiles.push(file);
  }

  #finish(): void {
    this.#checkSize(Math.max(1, this.#fileParts.length));
    // `finish` occurs after an error as well.
    if (this.#hasFailed) return;
    this.#firstFile.reject(missingFileError(this.#fields, this.otherFileNames, this.#options.further?.needs));
    this.#laterFiles.push(null);
    this.#ended.resolve();
  }

  #checkSize(files: number): void {
    const { bodyLimitBytes } = this.#options;
    if (this.#received > files * bodyLimitBytes) this.#fail(bodyTooLargeError('body', bodyLimitBytes));
  }

  #fail(error: ApiError): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#stopReading(error);
    this.#firstFile.reject(error);
    this.#ended.reject(error);
  }

  #stopReading(error?: Error): void {
    this.#body.unpipe(this.#parser);
    stopParsing(this.#parser);
    discardBody(this.#body);
    for (const part of this.#fileParts) part.destroy(error);
    this.#laterFiles.destroy(error);
  }
}

/** Number of bytes that are copied before the event loop serves other calls. */
const COPIED_SLICE_BYTES = 4 * MEGABYTE_BYTES;

/** Joins chunks to one array with its own memory. It is not zeroed first, because it is filled completely. */
export async function concatenateBytes(chunks: readonly Uint8Array[]): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = Buffer.allocUnsafeSlow(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let [offset, sliceEnd] = [0, COPIED_SLICE_BYTES];
  for (const chunk of chunks) {
    if (offset >= sliceEnd) {
      await nextTurn();
      sliceEnd = offset + COPIED_SLICE_BYTES;
    }
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

function createParser(request: FastifyRequest, fileLimitBytes: number, maxFiles: number): BusboyInstance {
  // One more file is parsed, so that the error is about too many files and not about too many parts.
  const files = maxFiles + 1 + MAX_ADDITIONAL_FILES;
  try {
    const parser = new Busboy({
      headers: request.headers as { 'content-type': string },
      // One byte beyond the limit is enough to refuse the file.
      limits: {
        fileSize: fileLimitBytes + 1,
        fields: MAX_FORM_FIELDS,
        fieldSize: MAX_TEXT_FIELD_BYTES,
        headerPairs: MAX_PART_HEADERS,
        headerSize: MAX_PART_HEADER_BYTES,
        files,
        parts: files + MAX_FORM_FIELDS,
      },
    });
    keepFullFileNames(parser);
    return parser;
  } catch {
    throw /boundary=/i.test(request.headers['content-type'] ?? '')
      ? malformedFormError()
      : missingBoundaryError();
  }
}

/**
 * The error for a body without a file.
 * @param fields the text fields of the body. One of them may hold the address or the id of an image.
 * @param otherFileNames the names of the other files in the body.
 * @param second the name of a second file that the call needs.
 */
function missingFileError(
  fields: Readonly<Record<string, string>>,
  otherFileNames: readonly string[],
  second?: string,
): ApiError {
  const [other] = otherFileNames;
  const needed = ['file', ...(second === undefined ? [] : [second])];
  const missing = needed.filter((name) => !otherFileNames.includes(name));
  const unknown = otherFileNames.filter((name) => !needed.includes(name));
  const found =
    'file' in fields
      ? 'a part named "file" that is text, not a file'
      : `no part named "file"${other === undefined ? '' : `, but one named ${JSON.stringify(other)}`}`;
  const named = imageReferenceIn(fields);
  const hint =
    named === undefined
      ? 'send the image as one, with a file name (curl: -F file=@photo.jpg)'
      : 'an image is named by url or assetId in a JSON body, with "Content-Type: application/json"';
  return invalidParamError(
    'file',
    `The multipart body has ${found}: ${hint}.`,
    { missing: ['file'], received: other, ...(named && { instead: [named] }) },
    unknown.length === missing.length
      ? unknown.map((param, at) => ({ param, rename: missing[at] as string, in: 'part' }))
      : [],
  );
}

/**
 * The field of a JSON body (`url` or `assetId`) for the address or the id of an image that a text field contains;
 * undefined if no text field contains one.
 */
function imageReferenceIn(
  fields: Readonly<Record<string, string>>,
): { url: string } | { assetId: string } | undefined {
  for (const text of Object.values(fields)) {
    if (/^https?:\/\/\S+$/i.test(text)) return { url: text };
    if (/^ast_\w+$/.test(text)) return { assetId: text };
  }
  return undefined;
}

function secondFileError(remedy = 'send one image per call'): ApiError {
  return invalidParamError('file', `The multipart body has more than one part named "file": ${remedy}.`);
}

function tooManyFilesError(limit: number): ApiError {
  const message = `The multipart body has more than ${limit} parts named "file": send the others in another call.`;
  return invalidParamError('file', message, { limit });
}

function tooManyPartsError(): ApiError {
  const message = `The multipart body has too many parts: send at most ${MAX_FORM_FIELDS} fields, and ${MAX_ADDITIONAL_FILES} files besides file.`;
  return invalidParamError('body', message, { limit: MAX_FORM_FIELDS });
}

function malformedFormError(): ApiError {
  return invalidParamError(
    'body',
    'The multipart body is malformed or was cut off: send it whole, with its boundary in Content-Type.',
  );
}

/**
 * The error for a form without a boundary. Its Content-Type was probably set by hand, because clients that build a form
 * also set the boundary.
 */
function missingBoundaryError(): ApiError {
  const message =
    'Content-Type has no boundary: leave the header out, so that your client writes it with the form; for bare bytes, name their image type.';
  return invalidParamError('body', message, undefined, [
    { param: 'Content-Type', remove: true, in: 'header' },
  ]);
}
