import { Readable } from 'node:stream';
import type { PutObjectCommandInput, S3Client } from '@aws-sdk/client-s3';
import { withoutAbsentFields } from '../../values/present.ts';
import { MEGABYTE_BYTES } from '../../values/units.ts';
import { StoreUnavailableError } from '../documents/port.ts';
import {
  assertObjectKey,
  assertWithinReadLimit,
  type ByteRange,
  type ListedObject,
  type ObjectStore,
  type StoredObject,
} from './port.ts';

const CONNECT_TIMEOUT_MS = 3000;
/** The timeout of a request with all its attempts, up to the headers of its response. */
const REQUEST_TIMEOUT_MS = 5_000;
/** The timeout of a request that uploads up to 8 MB. It is enough at 4 Mbit/s. */
const UPLOAD_TIMEOUT_MS = 20_000;
/**
 * The number of attempts. The second one handles a broken connection. More would only wait longer for an unavailable
 * bucket.
 */
const MAX_REQUEST_TRIES = 2;
/**
 * The longest pause within a response. It is long, because a slow client delays the reading, and its pause then looks
 * like a dead server.
 */
const MAX_RESPONSE_PAUSE_MS = 60_000;
const MAX_CONNECTIONS = 200;
const LIST_PAGE_SIZE = 1000;
/** The size of a part of an upload, which is held in memory. S3 accepts 10,000 parts, which are 80 GB. */
const UPLOAD_PART_BYTES = 8 * MEGABYTE_BYTES;

interface S3Options {
  bucket: string;
  region: string;
  /** The URL of an S3-compatible service other than AWS, whose buckets are named in the path. */
  endpoint?: string;
  /** The credentials of the bucket. By default, the SDK finds them itself, for example in AWS_ACCESS_KEY_ID. */
  credentials?: S3Credentials;
}

interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/** The credentials of a bucket in a settings file; null if it has none. */
export function s3CredentialsOf(
  environment: Readonly<Record<string, string | undefined>>,
): S3Credentials | null {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = environment;
  if (!accessKeyId || !secretAccessKey) return null;
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
}

/** Stores objects in a bucket. */
export class S3ObjectStore implements ObjectStore {
  readonly #options: S3Options;
  #connected: ReturnType<typeof createConnection> | null = null;

  constructor(options: S3Options) {
    this.#options = options;
  }

  async put(
    key: string,
    body: Uint8Array | Readable,
    contentType: string,
    recorded?: Promise<unknown>,
  ): Promise<{ sizeBytes: number }> {
    try {
      // A finished upload is visible at once, so the document has to be durable first.
      await recorded;
      const object = { ...this.#objectInputOf(key), ContentType: contentType };
      const { sdk, client } = await this.#connection();
      if (body instanceof Readable) return { sizeBytes: await this.#uploadStream(client, object, body) };
      const command = new sdk.PutObjectCommand({ ...object, Body: body });
      await this.#requestWithTimeout(
        (abortSignal) => client.send(command, { abortSignal }),
        UPLOAD_TIMEOUT_MS,
      );
      return { sizeBytes: body.length };
    } catch (error) {
      if (body instanceof Readable) body.destroy();
      throw error;
    }
  }

  async get(key: string, range?: ByteRange): Promise<StoredObject | null> {
    const object = this.#objectInputOf(key);
    const { sdk, client } = await this.#connection();
    const Range = range && `bytes=${range.start}-${range.end}`;
    const answer = await this.#requestWithTimeout((abortSignal) =>
      client.send(new sdk.GetObjectCommand({ ...object, Range }), { abortSignal }).catch(nullWhenMissing),
    );
    if (answer === null) return null;
    if (!(answer.Body instanceof Readable)) throw new StoreUnavailableError('S3 answered without a body.');
    return {
      body: answer.Body,
      sizeBytes: Number(answer.ContentRange?.split('/')[1] ?? answer.ContentLength),
      contentType: answer.ContentType ?? 'application/octet-stream',
    };
  }

  async read(key: string, limitBytes: number): Promise<Uint8Array | null> {
    const object = await this.get(key);
    if (object === null) return null;
    try {
      assertWithinReadLimit(limitBytes, object.sizeBytes);
      const bytes = new Uint8Array(object.sizeBytes);
      let filled = 0;
      for await (const chunk of object.body) {
        bytes.set(chunk, filled);
        filled += chunk.length;
      }
      if (filled < bytes.length) throw new Error('The answer ended early.');
      return bytes;
    } catch (error) {
      object.body.destroy();
      throw this.#storeErrorOf(error);
    }
  }

  async delete(key: string): Promise<void> {
    const object = this.#objectInputOf(key);
    const { sdk, client } = await this.#connection();
    await this.#requestWithTimeout((abortSignal) =>
      client.send(new sdk.DeleteObjectCommand(object), { abortSignal }),
    );
  }

  async listOlder(prefix: string, beforeMs: number, limit: number): Promise<string[]> {
    const keys: string[] = [];
    for await (const { key, storedMs } of this.#objectsUnder(prefix)) {
      if (keys.length >= limit) break;
      if (storedMs < beforeMs) keys.push(key);
    }
    return keys;
  }

  list(prefix: string): Promise<ListedObject[]> {
    return Array.fromAsync(this.#objectsUnder(prefix));
  }

  /** A bucket is never full. */
  async checkFreeSpace(): Promise<void> {}

  async ping(): Promise<void> {
    const { sdk, client } = await this.#connection();
    const command = new sdk.HeadBucketCommand({ Bucket: this.#options.bucket });
    await this.#requestWithTimeout((abortSignal) => client.send(command, { abortSignal }));
  }

  async close(): Promise<void> {
    const connected = await this.#connected;
    connected?.client.destroy();
  }

  /** The SDK is large, so it is loaded only when S3 is used. */
  #connection(): ReturnType<typeof createConnection> {
    this.#connected ??= createConnection(this.#options);
    return this.#connected;
  }

  #objectInputOf(key: string): { Bucket: string; Key: string } {
    assertObjectKey(key);
    return { Bucket: this.#options.bucket, Key: key };
  }

  /** Waits for the headers of a response, with a timeout. The body has no timeout here. */
  async #requestWithTimeout<T>(
    request: (signal: AbortSignal) => Promise<T>,
    timeoutMs = REQUEST_TIMEOUT_MS,
  ): Promise<T> {
    const tooLong = new AbortController();
    const timer = setTimeout(
      () => tooLong.abort(new Error(`It did not answer within ${timeoutMs} ms.`)),
      timeoutMs,
    );
    try {
      return await request(tooLong.signal);
    } catch (error) {
      throw this.#storeErrorOf(tooLong.signal.aborted ? tooLong.signal.reason : error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Maps an error of a request to one of the store. A bug in this program is returned unchanged. */
  #storeErrorOf(cause: unknown): unknown {
    if (cause instanceof RangeError || isProgramBug(cause)) return cause;
    if (hasErrorName(cause, 'InvalidRange'))
      return new RangeError('The object has none of these bytes.', { cause });
    const reason = cause instanceof Error ? ` (${cause.name}: ${cause.message})` : '';
    const message = `A request to the bucket ${this.#options.bucket} failed${reason}.`;
    return new StoreUnavailableError(message, { cause });
  }

  /**
   * Uploads a stream: in one request if it fits into a part, otherwise part by part. The object becomes visible when
   * the last part is confirmed. A slow sender does no harm, because each request has its own timeout. After a failure
   * the upload is aborted, if S3 can be reached. Otherwise its parts stay invisible, and the bucket's rule for
   * incomplete uploads removes them.
   * @returns the size in bytes
   */
  async #uploadStream(client: S3Client, object: PutObjectCommandInput, body: Readable): Promise<number> {
    const { Upload } = await import('@aws-sdk/lib-storage');
    const params = { ...object, Body: body };
    const upload = new Upload({ client, params, partSize: UPLOAD_PART_BYTES, queueSize: 1 });
    let sizeBytes = 0;
    upload.on('httpUploadProgress', ({ loaded = 0 }) => {
      sizeBytes = loaded;
    });
    try {
      await upload.done();
      return sizeBytes;
    } catch (error) {
      // An error of the sender is not an error of the store.
      throw error === body.errored ? error : this.#storeErrorOf(error);
    }
  }

  /** The objects whose keys begin with `prefix`; pages are requested as the caller iterates. */
  async *#objectsUnder(prefix: string): AsyncGenerator<ListedObject> {
    const { sdk, client } = await this.#connection();
    let StartAfter = '';
    for (;;) {
      const input = { Bucket: this.#options.bucket, Prefix: prefix, StartAfter, MaxKeys: LIST_PAGE_SIZE };
      const page = await this.#requestWithTimeout((abortSignal) =>
        client.send(new sdk.ListObjectsV2Command(input), { abortSignal }),
      );
      for (const { Key = '', Size = 0, LastModified } of page.Contents ?? []) {
        if (LastModified !== undefined) yield { key: Key, bytes: Size, storedMs: LastModified.getTime() };
        StartAfter = Key;
      }
      if (page.IsTruncated !== true) return;
    }
  }
}

async function createConnection({ region, endpoint, credentials }: S3Options) {
  const sdk = await import('@aws-sdk/client-s3');
  const client = new sdk.S3Client({
    region,
    maxAttempts: MAX_REQUEST_TRIES,
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    ...withoutAbsentFields({ credentials }),
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: UPLOAD_TIMEOUT_MS,
      throwOnRequestTimeout: true,
      socketTimeout: MAX_RESPONSE_PAUSE_MS,
      httpAgent: { maxSockets: MAX_CONNECTIONS },
      httpsAgent: { maxSockets: MAX_CONNECTIONS },
    },
  });
  return { sdk, client };
}

/**
 * Whether an error is a bug in this program. A TypeError with `$response` is none, because the SDK adds this field to
 * the errors of responses that it could not parse.
 */
function isProgramBug(error: unknown): boolean {
  return error instanceof TypeError && !('$response' in error);
}

function nullWhenMissing(error: unknown): null {
  if (hasErrorName(error, 'NoSuchKey')) return null;
  throw error;
}

function hasErrorName(error: unknown, name: string): boolean {
  return error instanceof Error && error.name === name;
}
