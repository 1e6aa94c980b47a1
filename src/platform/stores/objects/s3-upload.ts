import type { Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';
import { MEGABYTE } from '../../names/units.ts';

type Sdk = typeof import('@aws-sdk/client-s3');

/** Bytes of a stream that are held at a time. S3 takes 10,000 parts: 80 GB. */
const PART_BYTES = 8 * MEGABYTE;

/** Where an upload goes. */
export interface UploadTarget {
  sdk: Sdk;
  client: S3Client;
  object: { Bucket: string; Key: string };
  contentType: string;
  /** Awaits an answer of S3 within the deadline of an upload, and maps its failure. */
  reached: <T>(request: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  /** Maps the failure of a request that has a deadline of its own. */
  unavailable: (error: unknown) => unknown;
}

/** Answers the size in bytes. */
export async function uploadWhole(
  bytes: Uint8Array,
  { sdk, client, object, contentType, reached }: UploadTarget,
): Promise<number> {
  const command = new sdk.PutObjectCommand({ ...object, Body: bytes, ContentType: contentType });
  await reached((abortSignal) => client.send(command, { abortSignal }));
  return bytes.length;
}

/**
 * Uploads a stream: one request for what fits a part, parts one after the other for the rest; the object appears when
 * the last one is confirmed. A stream may come as slowly as its sender: each request has its own deadline, of the
 * client. After a failure the parts are given up, as far as S3 can be reached; those of an upload that could not be are
 * invisible, and a rule of the bucket for incomplete uploads removes them.
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
    // The failure of the sender is not one of the store.
    throw error === body.errored ? error : unavailable(error);
  }
}
