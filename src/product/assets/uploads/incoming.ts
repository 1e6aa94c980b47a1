import type { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { AdmissionQueue } from '../../../imaging/images/admission.ts';
import { checkIsImage } from '../../../imaging/images/source.ts';
import { mediaTypeOf } from '../../../platform/http/bodies/image-body.ts';
import { Multipart } from '../../../platform/http/bodies/multipart.ts';
import { announcedBytes, bodyTooLargeError, limitBody } from '../../../platform/http/bodies/streamed-body.ts';
import { createCheck } from '../../../platform/http/errors/validation.ts';
import type { OutboundRequests } from '../../../platform/outbound/outbound.ts';
import {
  IMAGE_FETCH_TIMEOUT_MS,
  MAX_CONCURRENT_IMAGE_FETCHES,
  MAX_FETCHED_IMAGE_BYTES,
  MAX_UPLOAD_BYTES,
  MAX_UPLOAD_FILES,
} from '../limits.ts';
import { filenameInUrl } from '../rules.ts';
import { UrlUploadBody } from '../schema.ts';

/** An image that is being received. It must be disposed of in every case. */
export interface IncomingImage extends Disposable {
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  /** The file name that the client sent. */
  filename: string | null;
}

/** A body with images that is being received. It must be disposed of in every case. */
export interface IncomingImagesBody extends Disposable {
  /** The images, at least one. Each must be disposed of before the next one arrives. */
  images: Iterable<IncomingImage> | AsyncIterable<IncomingImage>;
  /**
   * Must be called when the images have been read: it reads the rest of the body.
   * @returns the names of its parts that are not images.
   * @throws ApiError for an error in the rest of the body.
   */
  end(): Promise<string[]>;
}

const MAX_WAITING_FETCHES = 1_000;
export const checkUrlUpload = createCheck(UrlUploadBody, 'body');

/** Opens the images of a request's body as streams: raw bytes, multipart `file` parts, or the URL in a JSON body. */
export class IncomingImageReader {
  readonly #outbound: OutboundRequests;
  // A fetched image is held completely in memory, so fetches are limited, and accounts take turns.
  readonly #fetches = new AdmissionQueue({
    slots: MAX_CONCURRENT_IMAGE_FETCHES,
    budgetBytes: MAX_CONCURRENT_IMAGE_FETCHES * MAX_FETCHED_IMAGE_BYTES,
    limits: () => ({ calls: MAX_WAITING_FETCHES }),
  });

  constructor(outbound: OutboundRequests) {
    this.#outbound = outbound;
  }

  /**
   * @param client aborts when the client disconnects.
   * @throws ApiError payload_too_large on `file` or `body`; invalid_param; of the fetcher.
   */
  async open(request: FastifyRequest, accountId: string, client: AbortSignal): Promise<IncomingImagesBody> {
    const body = request.body as Readable;
    switch (mediaTypeOf(request)) {
      case 'application/json':
        request.body = await request.readJson();
        return alone(await this.#openUrl(checkUrlUpload(request.body).url, accountId, client));
      case 'multipart/form-data':
        return openParts(request, body);
      default:
        return alone(openRawImage(request, body));
    }
  }

  async #openUrl(url: string, accountId: string, client: AbortSignal): Promise<IncomingImage> {
    const { release } = await this.#fetches.acquire({
      accountId,
      bytes: MAX_FETCHED_IMAGE_BYTES,
      signal: client,
    });
    try {
      const options = {
        limitBytes: MAX_FETCHED_IMAGE_BYTES,
        timeoutMs: IMAGE_FETCH_TIMEOUT_MS,
        signal: client,
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
 * Opens a raw body as the image, regardless of its Content-Type.
 * @throws ApiError payload_too_large on `file`.
 */
export function openRawImage(
  request: FastifyRequest,
  body: Readable,
  limitBytes = MAX_UPLOAD_BYTES,
): IncomingImage {
  if ((announcedBytes(request) ?? 0) > limitBytes) throw bodyTooLargeError('file', limitBytes);
  const bytes = limitBody(body, limitBytes, 'file');
  return { bytes, filename: null, [Symbol.dispose]: () => undefined };
}

/** A body that is one image. */
function alone(image: IncomingImage): IncomingImagesBody {
  return { images: [image], end: async () => [], [Symbol.dispose]: () => image[Symbol.dispose]() };
}

async function openParts(request: FastifyRequest, body: Readable): Promise<IncomingImagesBody> {
  const multipart = await Multipart.open(request, body, {
    bodyLimitBytes: MAX_UPLOAD_BYTES,
    fileLimitBytes: MAX_UPLOAD_BYTES,
    maxFiles: MAX_UPLOAD_FILES,
  });
  async function* images() {
    yield multipart.file;
    yield* multipart.otherFiles;
  }
  return {
    images: images(),
    async end() {
      const fields = await multipart.fields();
      return [...Object.keys(fields), ...multipart.otherNames];
    },
    [Symbol.dispose]: () => multipart[Symbol.dispose](),
  };
}
