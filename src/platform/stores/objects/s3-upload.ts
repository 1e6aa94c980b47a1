import type { Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';
import { MEGABYTE } from '../../names/units.ts';

type Sdk = typeof import('@aws-sdk/client-s3');

/** The size of a part, which is held in memory. S3 accepts 10,000 parts, which are 80 GB. */
const PART_BYTES = 8 * MEGABYTE;

/** The target of an upload. */
export interface UploadTarget {
  sdk: Sdk;
  client: S3Client;
  object: { Bucket: string; Key: string };
  contentType: string;
  /** Awaits a response of S3 within the timeout of an upload, and maps its errors. */
  reached: <T>(request: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  /** Maps the error of a request that has its own timeout. */
  unavailable: (error: unknown) => unknown;
}

/** Returns the size in bytes. */
export async function uploadWhole(
  bytes: Uint8Array,
  { sdk, client, object, contentType, reached }: UploadTarget,
): Promise<number> {
  const command = new sdk.PutObjectCommand({ ...object, Body: bytes, ContentType: contentType });
  await reached((abortSignal) => client.send(command, { abortSignal }));
  return bytes.length;
}

/**
 * Uploads a stream: in one request if it fits into a part, otherwise part by part; the object becomes visible when the
 * last part is confirmed. A slow sender does no harm, because each request has its own timeout. After a failure the
 * upload is aborted, if S3 can be reached. Otherwise its parts stay invisible, and the bucket's rule for incomplete
 * uploads removes them.
 * @returns the size in bytes
 */
export async function uploadStream(
  body: Readable,
  { client, object, contentType, unavailable }: UploadTarget,
): Promise<number> {
  const { Upload } = await import('@aws-sdk/lib-storage');
  const upload = new Upload({
    client,
    params: { ...object, Body: body, ContentType: contentType },
    partSize: PART_BYTES,
    queueSize: 1,
  });
  let sizeBytes = 0;
  upload.on('httpUploadProgress', ({ loaded = 0 }) => {
    sizeBytes = loaded;
  });
  try {
    await upload.done();
    return sizeBytes;
  } catch (error) {
    // An error of the sender is not an error of the store.
    throw error === body.errored ? error : unavailable(error);
  }
}
