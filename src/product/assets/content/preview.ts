import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TransformCall } from '../../../imaging/images/image-call.ts';
import type { ImageWorkers } from '../../../imaging/images/image-workers.ts';
import { clientGoneSignal } from '../../../platform/http/connection/client-gone.ts';
import { invalidParamError } from '../../../platform/http/errors/errors.ts';
import { isEtagMatch } from '../../../platform/http/hooks/caching.ts';
import type { CallGate } from '../../accounts/gate/gate.ts';
import { isSignedLinkRequest } from './links.ts';
import type { AssetReader } from './reader.ts';
import { cacheControlHeader } from './sending.ts';

interface PreviewsOptions {
  gate: CallGate;
  imageWorkers: ImageWorkers;
  reader: AssetReader;
  now: () => Date;
}

const PREVIEW_TIMEOUT_MS = 20_000;
const QUALITY = 72;

/** Small previews of assets, for lists: a WebP of the first frame, upright. They are free of charge and not stored. */
export class AssetPreviews {
  readonly #options: PreviewsOptions;

  constructor(options: PreviewsOptions) {
    this.#options = options;
  }

  /**
   * Sends the preview of an asset, or 304 if the client has it.
   * @param edge the longest side in pixels.
   * @throws ApiError of the asset and of the image pool; invalid_param on preview if the request uses a link.
   */
  async send(request: FastifyRequest, reply: FastifyReply, assetId: string, edge: number) {
    if (isSignedLinkRequest(request)) throw notByLink();
    const { gate, imageWorkers, reader, now } = this.#options;
    const { accountId } = gate.requireCaller(request);
    const { digest, expiresAt, ...file } = await reader.find(accountId, assetId);
    const etag = `"${hash('sha256', `${digest}/${edge}/${QUALITY}`, 'hex').slice(0, 32)}"`;
    const headers = {
      etag,
      'cache-control': cacheControlHeader(
        request,
        [expiresAt === null ? null : Date.parse(expiresAt)],
        now().getTime(),
      ),
    };
    if (isEtagMatch(request.headers['if-none-match'], etag)) return reply.headers(headers).code(304).send();
    const work = imageWorkers.transform({
      bytes: file,
      pass: fittedInto(edge),
      accountId,
      signal: clientGoneSignal(reply),
      deadlineMs: Date.now() + PREVIEW_TIMEOUT_MS,
    });
    gate.keepSlotUntil(request, work.ended);
    const { data, contentType } = await work.result;
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    return reply.headers(headers).header('x-content-type-options', 'nosniff').type(contentType).send(bytes);
  }
}

function fittedInto(edge: number): TransformCall['pass'] {
  return {
    decode: { frame: 'first' },
    steps: [{ operation: 'resize', params: { width: edge, height: edge, fit: 'inside' } }],
    encode: { format: 'webp', quality: QUALITY, metadata: 'strip' },
  };
}

function notByLink() {
  return invalidParamError(
    'preview',
    'A signed link is for the original: leave preview out, or send a credential.',
  );
}
