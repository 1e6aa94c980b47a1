import { createHash, type Hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import type { FastifyRequest } from 'fastify';
import { AdmissionQueue } from '../../../imaging/images/admission.ts';
import { CallDeadline } from '../../../imaging/images/deadline.ts';
import type { ImageObject, ImageTags } from '../../../imaging/images/image-object.ts';
import type { ImageWorkers } from '../../../imaging/images/image-workers.ts';
import { checkIsImage } from '../../../imaging/images/source.ts';
import { systemClock } from '../../../platform/clock.ts';
import type { Capacity } from '../../../platform/concurrency/capacity.ts';
import { mediaTypeOf } from '../../../platform/http/bodies/image-body.ts';
import { Multipart } from '../../../platform/http/bodies/multipart.ts';
import { announcedBytes, bodyTooLargeError, limitBody } from '../../../platform/http/bodies/streamed-body.ts';
import { createValidator } from '../../../platform/http/errors/validation.ts';
import type { OutboundRequests } from '../../../platform/outbound/outbound.ts';
import type { ObjectStore } from '../../../platform/stores/objects/port.ts';
import type { ContentChecksums } from '../asset.ts';
import { storageUnreadableError, uploadsBusyError } from '../errors.ts';
import {
  IMAGE_FETCH_TIMEOUT_MS,
  MAX_CONCURRENT_IMAGE_FETCHES,
  MAX_FETCHED_IMAGE_BYTES,
  MAX_UPLOAD_BYTES,
  MAX_UPLOAD_FILES,
} from '../limits.ts';
import { filenameInUrl } from '../rules.ts';
import { UrlUploadBody } from '../schema.ts';

/** An image whose bytes are still arriving. Whoever reads it must dispose of it, even after an error. */
export interface IncomingImage extends Disposable {
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  /** The file name that the client sent. */
  filename: string | null;
}

/** A body with images whose bytes are still arriving. Whoever reads it must dispose of it, even after an error. */
export interface IncomingImagesBody extends Disposable {
  /** The images, at least one. Each must be disposed of before the next one arrives. */
  images: Iterable<IncomingImage> | AsyncIterable<IncomingImage>;
  /**
   * Reads the rest of the body. It must be called when the images have been read.
   * @returns the names of its parts that are not images.
   * @throws ApiError for an error in the rest of the body.
   */
  end(): Promise<string[]>;
}

const MAX_WAITING_FETCHES = 1_000;
export const checkUrlUpload = createValidator(UrlUploadBody, 'body');

/** Opens the images of a request's body as streams: raw bytes, multipart `file` parts, or the URL in a JSON body. */
export class IncomingImageReader {
  readonly #outbound: OutboundRequests;
  // Fetches are limited, because a fetched image is held in memory as a whole. Accounts are served in turn.
  readonly #fetches = new AdmissionQueue({
    slots: MAX_CONCURRENT_IMAGE_FETCHES,
    // One slot is always left to other accounts, because a slow source may occupy a slot for the whole timeout.
    slotsPerAccount: MAX_CONCURRENT_IMAGE_FETCHES - 1,
    budgetBytes: MAX_CONCURRENT_IMAGE_FETCHES * MAX_FETCHED_IMAGE_BYTES,
    limits: () => ({ calls: MAX_WAITING_FETCHES }),
  });

  constructor(outbound: OutboundRequests) {
    this.#outbound = outbound;
  }

  /**
   * @param clientSignal aborts when the client disconnects.
   * @throws ApiError payload_too_large on `file` or `body`; invalid_param; an error of the download when the body names
   * a URL.
   */
  async open(
    request: FastifyRequest,
    accountId: string,
    clientSignal: AbortSignal,
  ): Promise<IncomingImagesBody> {
    const body = request.body as Readable;
    switch (mediaTypeOf(request)) {
      case 'application/json':
        request.body = await request.readJson();
        return singleImageBody(
          await this.#openUrl(checkUrlUpload(request.body).url, accountId, clientSignal),
        );
      case 'multipart/form-data':
        return openMultipartBody(request, body);
      default:
        return singleImageBody(openBodyImage(request, body));
    }
  }

  async #openUrl(url: string, accountId: string, clientSignal: AbortSignal): Promise<IncomingImage> {
    const { release } = await this.#fetches.acquire({
      accountId,
      bytes: MAX_FETCHED_IMAGE_BYTES,
      signal: clientSignal,
    });
    try {
      const options = {
        limitBytes: MAX_FETCHED_IMAGE_BYTES,
        timeoutMs: IMAGE_FETCH_TIMEOUT_MS,
        signal: clientSignal,
      };
      const { bytes } = await this.#outbound.fetchImage(url, options);
      checkIsImage(bytes, 'url');
      return { bytes: [bytes], filename: filenameInUrl(url), [Symbol.dispose]: release };
    } catch (error) {
      release();
      throw error;
    }
  }
}

/**
 * Opens a body that is the image itself, whatever its Content-Type.
 * @throws ApiError payload_too_large on `file`.
 */
export function openBodyImage(
  request: FastifyRequest,
  body: Readable,
  limitBytes = MAX_UPLOAD_BYTES,
): IncomingImage {
  if ((announcedBytes(request) ?? 0) > limitBytes) throw bodyTooLargeError('file', limitBytes);
  const bytes = limitBody(body, limitBytes, 'file');
  return { bytes, filename: null, [Symbol.dispose]: () => undefined };
}

function singleImageBody(image: IncomingImage): IncomingImagesBody {
  return { images: [image], end: async () => [], [Symbol.dispose]: () => image[Symbol.dispose]() };
}

async function openMultipartBody(request: FastifyRequest, body: Readable): Promise<IncomingImagesBody> {
  const multipart = await Multipart.open(request, body, {
    bodyLimitBytes: MAX_UPLOAD_BYTES,
    fileLimitBytes: MAX_UPLOAD_BYTES,
    maxFiles: MAX_UPLOAD_FILES,
  });
  async function* images() {
    yield multipart.file;
    yield* multipart.laterFiles;
  }
  return {
    images: images(),
    async end() {
      const fields = await multipart.fields();
      return [...Object.keys(fields), ...multipart.otherFileNames];
    },
    [Symbol.dispose]: () => multipart[Symbol.dispose](),
  };
}

export interface ExaminedImage {
  image: ImageObject;
  metadata: ImageTags;
}

/** How long describing an upload may take after its last byte, in milliseconds, including the wait in the queue. */
const DESCRIBE_TIMEOUT_MS = 60_000;
const MAX_WAITING_UPLOADS = 10_000;

function queueLimitsOf({ imageThreads }: Capacity) {
  const slots = imageThreads() + 1;
  return { slots, budgetBytes: slots * MAX_UPLOAD_BYTES };
}

/** Receives the bytes of uploads: streams them to the object store, and has them described by a thread. */
export class UploadIntake {
  readonly #objects: ObjectStore;
  readonly #imageWorkers: ImageWorkers;
  /**
   * The queue of uploads whose stored bytes are read back for a worker thread. It admits only enough uploads to keep
   * the threads busy, so that the others hold no bytes in memory while they wait. Accounts are served in turn.
   */
  readonly #queue: AdmissionQueue;

  constructor(options: { objects: ObjectStore; imageWorkers: ImageWorkers; capacity: Capacity }) {
    this.#objects = options.objects;
    this.#imageWorkers = options.imageWorkers;
    this.#queue = new AdmissionQueue({
      ...queueLimitsOf(options.capacity),
      limits: () => ({ calls: MAX_WAITING_UPLOADS }),
    });
    options.capacity.onChange(() => this.#queue.resize(queueLimitsOf(options.capacity)));
  }

  /** Streams the image to the object store. If the stream fails, nothing is stored, and the error is thrown. */
  async store(key: string, image: IncomingImage): Promise<ContentChecksums> {
    const checksums: RunningChecksums = { hash: createHash('sha256'), crc32: 0 };
    const body = Readable.from(withChecksums(image.bytes, checksums), { objectMode: false });
    // The object needs no media type, because the asset's document contains it.
    await this.#objects.put(key, body, 'application/octet-stream');
    return { digest: checksums.hash.digest('hex'), crc32: checksums.crc32 };
  }

  /**
   * Reads stored bytes back and describes their image.
   * @param palette the largest number of palette colours. Without it, no palette is measured.
   * @throws ApiError unsupported_format; provider_unavailable; the signal's reason.
   */
  readonly describe = async (
    accountId: string,
    key: string,
    clientSignal: AbortSignal,
    palette?: number,
  ): Promise<ExaminedImage> => {
    using ends = new DisposableStack();
    const deadlineMs = systemClock.nowMs() + DESCRIBE_TIMEOUT_MS;
    const deadline = new CallDeadline({
      deadlineMs,
      client: clientSignal,
      clock: systemClock,
      createWaitError: uploadsBusyError,
    });
    ends.defer(() => deadline.end());
    const { signal } = deadline;
    const { release } = await this.#queue.acquire({ accountId, bytes: MAX_UPLOAD_BYTES, signal });
    ends.defer(release);
    const bytes = await this.#objects.read(key, MAX_UPLOAD_BYTES);
    if (bytes === null) throw storageUnreadableError();
    return await this.#imageWorkers.describe({ bytes, accountId, deadlineMs, signal, palette }).result;
  };
}

interface RunningChecksums {
  hash: Hash;
  crc32: number;
}

async function* withChecksums(bytes: IncomingImage['bytes'], checksums: RunningChecksums) {
  for await (const chunk of bytes) {
    checksums.hash.update(chunk);
    checksums.crc32 = crc32(chunk, checksums.crc32);
    yield chunk;
  }
}
