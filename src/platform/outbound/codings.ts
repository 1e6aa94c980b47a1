import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { concatenateBytes } from '../http/bodies/multipart.ts';

/** The error of a body that is not decoded. */
export class ContentCodingError extends Error {
  override readonly name = 'ContentCodingError';
  /**
   * `unknown`: the coding is not supported. `many`: more codings, or more frames of zstd, than are decoded. `damaged`:
   * the body is cut off or malformed. `large`: the body is above the limit.
   */
  readonly fault: 'unknown' | 'many' | 'damaged' | 'large';
  /** The name of the coding, shortened and in printable ASCII. */
  readonly coding: string;

  constructor(fault: ContentCodingError['fault'], coding: string, cause?: unknown) {
    super(`content coding ${coding}: ${fault}`, { cause });
    this.fault = fault;
    this.coding = coding;
  }
}

type Decoder = (bytes: Uint8Array, options: { maxOutputLength: number }) => Promise<Uint8Array>;

const inflate = promisify(zlib.inflate);
const inflateRaw = promisify(zlib.inflateRaw);
const gunzip = promisify(zlib.gunzip);
/** The decoder window of 8 MB that RFC 9659 allows. Each decoder holds one window in memory. */
const ZSTD_OPTIONS = { params: { [zlib.constants.ZSTD_d_windowLogMax]: 23 } };
/** The most zstd frames of a body, far more than any real image has. Each frame needs its own decoder. */
export const MAX_ZSTD_FRAMES = 100;

const DECODERS: Readonly<Record<string, Decoder>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  // Some servers send the compressed data without its zlib header.
  deflate: (bytes, options) => (hasZlibHeader(bytes) ? inflate : inflateRaw)(bytes, options),
  br: promisify(zlib.brotliDecompress),
  zstd: zstdDecompress,
};
/** The codings that are decoded, as text for messages. */
export const SUPPORTED_CODINGS_TEXT = 'gzip, deflate, br and zstd';
/** Names that mean no coding. Uploads to S3 have `aws-chunked`, and some object stores send it back with the file. */
const IDENTITY_CODINGS: readonly string[] = ['', 'identity', 'aws-chunked'];
/**
 * The most codings of a body: that of the file, as an object store keeps it, and that of the response. Decoding each of
 * them takes as much CPU time as decoding another body.
 */
export const MAX_CODINGS = 2;
const MAX_CODING_NAME_CHARACTERS = 40;
/**
 * The number of bytes by which a coded body may be larger than the decoded one, because some data does not compress.
 */
const MAX_CODING_GROWTH_BYTES = 64 * 1024;

/**
 * Reads a body, and decodes its content codings (RFC 9110, 8.4). Codings that were not requested are decoded too,
 * because object stores send the bytes of a file as they are stored. No step makes more bytes than the limit, so that a
 * small body cannot fill the memory.
 * @returns the bytes, in their own ArrayBuffer.
 * @throws ContentCodingError, for an unknown coding before the body is read; the error of the connection.
 */
export async function readDecodedBody(
  response: IncomingMessage,
  limitBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const codings = parseCodings(response);
  if (codings.length === 0) return readBody(response, limitBytes);
  const coded: Uint8Array<ArrayBuffer> = await readBody(response, limitBytes + MAX_CODING_GROWTH_BYTES);
  if (coded.length === 0) return coded;
  let bytes: Uint8Array = coded;
  for (const [index, { name, decode }] of codings.toReversed().entries()) {
    const isLast = index === codings.length - 1;
    const maxOutputLength = isLast ? limitBytes : limitBytes + MAX_CODING_GROWTH_BYTES;
    bytes = await decode(bytes, { maxOutputLength }).catch((error: NodeJS.ErrnoException) => {
      if (error instanceof ContentCodingError) throw error;
      const fault = error.code === 'ERR_BUFFER_TOO_LARGE' ? 'large' : 'damaged';
      throw new ContentCodingError(fault, name, error);
    });
  }
  return concatenateBytes([bytes]);
}

/**
 * Decodes all frames of a body (RFC 8878, 3.1). Node's own function decodes only the first.
 * @throws ContentCodingError; the error of the decoder.
 */
async function zstdDecompress(
  bytes: Uint8Array,
  { maxOutputLength }: { maxOutputLength: number },
): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let [readBytes, madeBytes] = [0, 0];
  for (let frames = 0; readBytes < bytes.length; frames += 1) {
    if (frames === MAX_ZSTD_FRAMES) throw new ContentCodingError('many', 'zstd');
    const frame = zlib.createZstdDecompress(ZSTD_OPTIONS);
    frame.end(bytes.subarray(readBytes));
    for await (const chunk of frame as AsyncIterable<Buffer>) {
      madeBytes += chunk.length;
      if (madeBytes > maxOutputLength) throw new ContentCodingError('large', 'zstd');
      chunks.push(chunk);
    }
    readBytes += frame.bytesWritten;
  }
  return concatenateBytes(chunks);
}

/** The codings in the order of their application. */
function parseCodings({ headers }: IncomingMessage): { name: string; decode: Decoder }[] {
  const names = (headers['content-encoding'] ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => !IDENTITY_CODINGS.includes(name));
  const codings = names.map((name) => {
    const decode = Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined;
    if (decode === undefined) throw new ContentCodingError('unknown', toPrintable(name));
    return { name, decode };
  });
  if (codings.length > MAX_CODINGS) throw new ContentCodingError('many', toPrintable(names.join(', ')));
  return codings;
}

async function readBody(response: IncomingMessage, limitBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = () => new ContentCodingError('large', 'identity');
  if (Number(response.headers['content-length'] ?? 0) > limitBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > limitBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return concatenateBytes(chunks);
}

/** Whether the bytes begin with a zlib header (RFC 1950, 2.2): the method deflate, and a checksum over both bytes. */
function hasZlibHeader([first = 0, second = 0]: Uint8Array): boolean {
  return (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0;
}

function toPrintable(name: string): string {
  return name.replace(/[^\x20-\x7e]/g, '?').slice(0, MAX_CODING_NAME_CHARACTERS);
}
