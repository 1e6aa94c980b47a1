import type { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { JSON_BODY_LIMIT_BYTES, parseJson } from '../http/bodies.ts';
import { mediaTypeOf } from '../http/image-body.ts';
import { readMultipart } from '../http/multipart.ts';
import { announcedBytes, collect, tooLarge, within } from '../http/streamed-body.ts';
import { checkOf } from '../http/validation.ts';
import type { Outbound } from '../outbound/outbound.ts';
import { type Admission, createAdmission } from '../pixels/admission.ts';
import type { Incoming } from './intake.ts';
import { UPLOAD_LIMIT_BYTES, URL_FETCHES, URL_LIMIT_BYTES, URL_TIMEOUT_MS } from './limits.ts';
import { filenameIn } from './rules.ts';
import { UrlUpload } from './schema.ts';

/** Whose upload it is, and what ends when its sender has gone away. */
interface Sender {
  accountId: string;
  client: AbortSignal;
}

type Take<T> = (incoming: Incoming) => Promise<T>;

const MOST_WAITING_FETCHES = 1_000;
const checkUrlUpload = checkOf(UrlUpload, 'body');

/** Reads the image of a request's body while it comes: raw bytes, a multipart `file` part, or a JSON url. */
export function createIncoming(outbound: Outbound) {
  // A fetched image is in memory as a whole: few at once, accounts in turn.
  const fetches: Admission = createAdmission({
    seats: URL_FETCHES,
    budgetBytes: URL_FETCHES * URL_LIMIT_BYTES,
    queueLimit: MOST_WAITING_FETCHES,
  });

  async function takeUrl<T>(url: string, { accountId, client }: Sender, take: Take<T>): Promise<T> {
    const { release } = await fetches.acquire({ accountId, bytes: URL_LIMIT_BYTES, signal: client });
    try {
      const options = { limitBytes: URL_LIMIT_BYTES, timeoutMs: URL_TIMEOUT_MS, signal: client };
      const { bytes } = await outbound.fetchImage(url, options);
      return await take({ bytes: [bytes], filename: filenameIn(url) });
    } finally {
      release();
    }
  }

  return {
    /** @throws ApiError payload_too_large on `file` or `body`; invalid_param; of the fetcher; what `take` throws. */
    async upload<T>(request: FastifyRequest, sender: Sender, take: Take<T>): Promise<T> {
      const body = request.body as Readable;
      switch (mediaTypeOf(request)) {
        case 'application/json': {
          const json = await collect(body, request, JSON_BODY_LIMIT_BYTES, 'body');
          return takeUrl(checkUrlUpload(parseJson(json)).url, sender, take);
        }
        case 'multipart/form-data': {
          const limits = { bodyLimitBytes: UPLOAD_LIMIT_BYTES, fileLimitBytes: UPLOAD_LIMIT_BYTES };
          return (await readMultipart(request, body, { ...limits, take })).file;
        }
        default:
          return takeRaw(request, body, take);
      }
    },

    /** Raw bytes whatever they are called: an upload url knows what was to come. */
    put<T>(request: FastifyRequest, take: Take<T>): Promise<T> {
      return takeRaw(request, request.raw, take);
    },
  };
}

export type IncomingImages = ReturnType<typeof createIncoming>;

async function takeRaw<T>(request: FastifyRequest, body: Readable, take: Take<T>): Promise<T> {
  if ((announcedBytes(request) ?? 0) > UPLOAD_LIMIT_BYTES) throw tooLarge('file', UPLOAD_LIMIT_BYTES);
  return take({ bytes: within(body, UPLOAD_LIMIT_BYTES, 'file'), filename: null });
}
