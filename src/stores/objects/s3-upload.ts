import type { Readable } from 'node:stream';
import type { CompletedPart, S3Client } from '@aws-sdk/client-s3';

type Sdk = typeof import('@aws-sdk/client-s3');

/** What is held of a stream at a time. S3 takes 10,000 parts: 80 GB. */
const PART_BYTES = 8 * 1024 * 1024;

/** Where an upload goes. */
export interface UploadTarget {
  sdk: Sdk;
  client: S3Client;
  object: { Bucket: string; Key: string };
  contentType: string;
  /** Awaits an answer of S3 within the deadline of an upload, and maps its failure. */
  reached: <T>(request: (signal: AbortSignal) => Promise<T>) => Promise<T>;
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

/** One request for what fits a part, parts for the rest. Answers the size in bytes. */
export async function uploadStream(body: Readable, target: UploadTarget): Promise<number> {
  const parts = partsOf(body);
  const first = (await parts.next()).value ?? new Uint8Array();
  return first.length < PART_BYTES
    ? uploadWhole(first, target)
    : uploadParts(startingWith(first, parts), target);
}

/**
 * Uploads parts one after the other; the object appears when the last one is confirmed. After a failure the upload
 * is aborted, as far as S3 can be reached: parts of an upload that could not be are invisible, and a rule of the
 * bucket for incomplete uploads removes them.
 */
async function uploadParts(
  parts: AsyncIterable<Uint8Array>,
  { sdk, client, object, contentType, reached }: UploadTarget,
): Promise<number> {
  const create = new sdk.CreateMultipartUploadCommand({ ...object, ContentType: contentType });
  const { UploadId } = await reached((abortSignal) => client.send(create, { abortSignal }));
  const upload = { ...object, UploadId };
  try {
    const uploaded: CompletedPart[] = [];
    let sizeBytes = 0;
    for await (const part of parts) {
      const PartNumber = uploaded.length + 1;
      const command = new sdk.UploadPartCommand({ ...upload, PartNumber, Body: part });
      const { ETag } = await reached((abortSignal) => client.send(command, { abortSignal }));
      uploaded.push({ ETag, PartNumber });
      sizeBytes += part.length;
    }
    const complete = new sdk.CompleteMultipartUploadCommand({
      ...upload,
      MultipartUpload: { Parts: uploaded },
    });
    await reached((abortSignal) => client.send(complete, { abortSignal }));
    return sizeBytes;
  } catch (error) {
    await client.send(new sdk.AbortMultipartUploadCommand(upload)).catch(() => undefined);
    throw error;
  }
}

async function* startingWith(first: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}

/** A stream in pieces of PART_BYTES, but for the last. An empty stream has none. */
async function* partsOf(body: Readable): AsyncGenerator<Uint8Array, undefined> {
  let chunks: Uint8Array[] = [];
  let pendingBytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    pendingBytes += chunk.length;
    while (pendingBytes >= PART_BYTES) {
      const whole = Buffer.concat(chunks);
      yield whole.subarray(0, PART_BYTES);
      chunks = [whole.subarray(PART_BYTES)];
      pendingBytes -= PART_BYTES;
    }
  }
  if (pendingBytes > 0) yield Buffer.concat(chunks);
}
