import { Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';
import { present } from '../../names/present.ts';
import { StoreUnavailableError } from '../documents/port.ts';
import { assertKey } from './key.ts';
import type { Objects, StoredObject } from './port.ts';
import { assertWithin } from './range.ts';
import { type UploadTarget, uploadStream, uploadWhole } from './s3-upload.ts';

const CONNECT_TIMEOUT_MS = 3000;
/** The timeout of a request with all its attempts, up to the headers of its response. */
const REQUEST_TIMEOUT_MS = 5_000;
/** The same for a request with up to 8 MB, which passes at 4 Mbit/s. */
const UPLOAD_TIMEOUT_MS = 20_000;
/**
 * The number of attempts: the second one handles a broken connection; more would only wait longer for an unavailable
 * bucket.
 */
const MOST_TRIES = 2;
/** The idle timeout within a response. It is long, because a slow reader looks like a dead server. */
const IDLE_TIMEOUT_MS = 60_000;
const MAX_CONNECTIONS = 200;
const LIST_PAGE = 1000;

type Sdk = typeof import('@aws-sdk/client-s3');

interface S3Options {
  bucket: string;
  region: string;
  /** The URL of an S3-compatible service other than AWS, whose buckets are named in the path. */
  endpoint?: string;
  /** By default, the SDK finds the credentials itself, for example in AWS_ACCESS_KEY_ID. */
  credentials?: S3Credentials;
}

interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/** The credentials of a bucket in a settings file; null without any. */
export function credentialsIn(
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
export class S3Objects implements Objects {
  readonly #options: S3Options;
  #opened: Promise<{ sdk: Sdk; client: S3Client }> | null = null;

  constructor(options: S3Options) {
    this.#options = options;
  }

  async put(
    key: string,
    body: Uint8Array | Readable,
    contentType: string,
    noted?: Promise<unknown>,
  ): Promise<{ sizeBytes: number }> {
    try {
      // A finished upload is visible at once, so the note has to be durable first.
      await noted;
    } catch (error) {
      if (body instanceof Readable) body.destroy();
      throw error;
    }
    const target = await this.#target(key, contentType);
    if (!(body instanceof Readable)) return { sizeBytes: await uploadWhole(body, target) };
    try {
      return { sizeBytes: await uploadStream(body, target) };
    } catch (error) {
      body.destroy();
      throw error;
    }
  }

  async get(key: string, range?: { start: number; end: number }): Promise<StoredObject | null> {
    const object = this.#object(key);
    const { sdk, client } = await this.#open();
    const Range = range && `bytes=${range.start}-${range.end}`;
    const answer = await this.#reached((abortSignal) =>
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
      assertWithin(limitBytes, object.sizeBytes);
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
      throw this.#unavailable(error);
    }
  }

  async delete(key: string): Promise<void> {
    const object = this.#object(key);
    const { sdk, client } = await this.#open();
    await this.#reached((abortSignal) => client.send(new sdk.DeleteObjectCommand(object), { abortSignal }));
  }

  async listOlder(prefix: string, beforeMs: number, limit: number): Promise<string[]> {
    const { sdk, client } = await this.#open();
    const keys: string[] = [];
    let StartAfter = '';
    for (;;) {
      const question = { Bucket: this.#options.bucket, Prefix: prefix, StartAfter, MaxKeys: LIST_PAGE };
      const page = await this.#reached((abortSignal) =>
        client.send(new sdk.ListObjectsV2Command(question), { abortSignal }),
      );
      for (const { Key = '', LastModified } of page.Contents ?? []) {
        if (keys.length >= limit) return keys;
        if (LastModified !== undefined && LastModified.getTime() < beforeMs) keys.push(Key);
        StartAfter = Key;
      }
      if (page.IsTruncated !== true) return keys;
    }
  }

  /** A bucket is never full. */
  async checkFreeSpace(): Promise<void> {}

  async ping(): Promise<void> {
    const { sdk, client } = await this.#open();
    const question = new sdk.HeadBucketCommand({ Bucket: this.#options.bucket });
    await this.#reached((abortSignal) => client.send(question, { abortSignal }));
  }

  async close(): Promise<void> {
    const opened = await this.#opened;
    opened?.client.destroy();
  }

  async #target(key: string, contentType: string): Promise<UploadTarget> {
    const object = this.#object(key);
    const { sdk, client } = await this.#open();
    const reached: UploadTarget['reached'] = (request) => this.#reached(request, UPLOAD_TIMEOUT_MS);
    const unavailable = (error: unknown) => this.#unavailable(error);
    return { sdk, client, object, contentType, reached, unavailable };
  }

  #object(key: string): { Bucket: string; Key: string } {
    assertKey(key);
    return { Bucket: this.#options.bucket, Key: key };
  }

  /** The SDK is large, so it is loaded only when S3 is used. */
  #open(): Promise<{ sdk: Sdk; client: S3Client }> {
    this.#opened ??= connect(this.#options);
    return this.#opened;
  }

  /** Awaits the headers of a response with a timeout; its body has no timeout here. */
  async #reached<T>(
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
      throw this.#unavailable(tooLong.signal.aborted ? tooLong.signal.reason : error);
    } finally {
      clearTimeout(timer);
    }
  }

  #unavailable(cause: unknown): unknown {
    if (cause instanceof RangeError) return cause;
    if (isNamed(cause, 'InvalidRange'))
      return new RangeError('The object has none of these bytes.', { cause });
    const reason = cause instanceof Error ? ` (${cause.name}: ${cause.message})` : '';
    const bucket = this.#options.bucket;
    return new StoreUnavailableError(`The bucket ${bucket} did not do what it was asked${reason}.`, {
      cause,
    });
  }
}

async function connect({
  region,
  endpoint,
  credentials,
}: S3Options): Promise<{ sdk: Sdk; client: S3Client }> {
  const sdk = await import('@aws-sdk/client-s3');
  const client = new sdk.S3Client({
    region,
    maxAttempts: MOST_TRIES,
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    ...present({ credentials }),
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: UPLOAD_TIMEOUT_MS,
      throwOnRequestTimeout: true,
      socketTimeout: IDLE_TIMEOUT_MS,
      httpAgent: { maxSockets: MAX_CONNECTIONS },
      httpsAgent: { maxSockets: MAX_CONNECTIONS },
    },
  });
  return { sdk, client };
}

function nullWhenMissing(error: unknown): null {
  if (isNamed(error, 'NoSuchKey')) return null;
  throw error;
}

function isNamed(error: unknown, name: string): boolean {
  return error instanceof Error && error.name === name;
}
