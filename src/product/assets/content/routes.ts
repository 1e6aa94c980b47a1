import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TransformCall } from '../../../imaging/images/image-call.ts';
import type { ImageWorkers } from '../../../imaging/images/image-workers.ts';
import { clientGoneSignal } from '../../../platform/http/connection/client.ts';
import { invalidParamError } from '../../../platform/http/errors/errors.ts';
import { isEtagMatch } from '../../../platform/http/hooks/caching.ts';
import { declarePreflightRoute, openToEveryOrigin } from '../../../platform/http/hooks/cors.ts';
import { addWarnings } from '../../../platform/http/hooks/warnings.ts';
import type { ByteRange, ObjectStore } from '../../../platform/stores/objects/port.ts';
import type { CallGate } from '../../accounts/gate/gate.ts';
import { findOp } from '../../catalogue/index.ts';
import { AssetContentQuery, AssetParams } from '../schema.ts';
import type { AssetsStore } from '../store.ts';
import { type AccountLinks, isSignedLinkRequest } from './links.ts';
import { type AssetReader, findAssetWithContent, openAssetContent } from './reader.ts';
import {
  cacheControlHeader,
  contentDispositionHeader,
  downloadFileName,
  IMAGE_CONTENT_POLICY,
  sendFileOrRange,
} from './sending.ts';

interface ContentRoutesOptions {
  gate: CallGate;
  store: AssetsStore;
  objects: ObjectStore;
  links: AccountLinks;
  imageWorkers: ImageWorkers;
  reader: AssetReader;
  now: () => Date;
}

/** The route GET /assets/{id}/content, which sends the bytes to their owner and to holders of a signed link. */
export async function contentRoutes(app: FastifyInstance, options: ContentRoutesOptions): Promise<void> {
  const { gate, store, objects, links, now } = options;
  openToEveryOrigin(app, isSignedLinkRequest);
  declarePreflightRoute(app, '/assets/:assetId/content', {
    methods: ['GET', 'HEAD', 'PUT'],
    isSigned: isSignedLinkRequest,
  });

  app.get<{ Params: AssetParams; Querystring: AssetContentQuery }>(
    '/assets/:assetId/content',
    {
      config: {
        access: 'public',
        ignoresCredential: isSignedLinkRequest,
        responseType: 'image/*',
        slot: (request) => (hasPreviewParameter(request) ? 'calls' : null),
      },
      schema: {
        summary: 'Read the bytes of an asset',
        description:
          'With a credential, or without one by a signed link. Answers single ranges and ETags. With preview, a small WebP of it, free of charge. X-Service-Warnings says `sandbox_model:<model>` of what a model of the sandbox invented.',
        security: [{ apiKey: [] }, { session: [] }, {}],
        params: AssetParams,
        querystring: AssetContentQuery,
      },
    },
    async (request, reply) => {
      refuseImageParameters(request.query);
      const { preview } = request.query;
      if (preview !== undefined) return sendPreview(request, reply, preview, options);
      const asset = await findAssetWithContent(store, requireOwnerId(request), request.params.assetId);
      const { mimeType: type, bytes: sizeBytes } = asset.image;
      addWarnings(reply, asset.warnings ?? []);
      const shown = request.query.download === true ? 'attachment' : 'inline';
      const file = {
        type,
        sizeBytes,
        etag: `"${asset.digest}"`,
        ends: expiryTimesOf(asset, request.query),
        headers: {
          'content-disposition': contentDispositionHeader(
            shown,
            downloadFileName(asset.name ?? asset._id, asset.image.format, true),
          ),
          'x-content-type-options': 'nosniff',
          'content-security-policy': IMAGE_CONTENT_POLICY,
        },
        open: async (range: ByteRange | null) => (await openAssetContent(objects, asset, range)).body,
      };
      return sendFileOrRange(request, reply, file, now().getTime());
    },
  );

  /** The account whose asset may be read: the account of the link, else that of the caller. */
  function requireOwnerId(request: ContentRequest): string {
    const { params, query } = request;
    if (!isSignedLinkRequest(request)) return gate.requireCaller(request).accountId;
    return links.requireOwner({ grant: 'asset-content', id: params.assetId }, query);
  }
}

type ContentRequest = FastifyRequest<{ Params: AssetParams; Querystring: AssetContentQuery }>;

/** Whether the query requests a preview. The query may not be validated yet. */
function hasPreviewParameter({ query }: FastifyRequest): boolean {
  return (query as AssetContentQuery).preview !== undefined;
}

/** The parameters of the ops `resize` and `convert`. People send them here by mistake to get a changed picture. */
const IMAGE_PARAMETERS = new Set(
  ['resize', 'convert'].flatMap((op) => Object.keys(findOp(op)?.parameters.properties ?? {})),
);

/**
 * Refuses fields that request a changed picture, because this route returns the original.
 * @throws ApiError invalid_param on such a field.
 */
function refuseImageParameters(query: object): void {
  const name = Object.keys(query).find((field) => IMAGE_PARAMETERS.has(field));
  if (name === undefined) return;
  const message = `${name} is not read here, which answers the original: get a signed address of the changed picture by POST /api/v1/delivery-links, or its bytes by POST /api/v1/images/transform.`;
  throw invalidParamError(name, message);
}

/** The times after which the response must not be used: the expiry of the asset, and that of the link. */
function expiryTimesOf(
  { expiresAt }: { expiresAt: string | null },
  { expires }: AssetContentQuery,
): Array<number | null> {
  return [expiresAt === null ? null : Date.parse(expiresAt), expires === undefined ? null : Number(expires)];
}

const PREVIEW_TIMEOUT_MS = 20_000;
const PREVIEW_QUALITY = 72;

/**
 * Sends a small preview of an asset for lists, or 304: a WebP of the first frame, upright. Previews are free of charge
 * and not stored.
 * @param edge the longest side in pixels.
 * @throws ApiError for the asset or from the image pool; invalid_param on preview if the request uses a link.
 */
async function sendPreview(
  request: ContentRequest,
  reply: FastifyReply,
  edge: number,
  { gate, imageWorkers, reader, now }: ContentRoutesOptions,
): Promise<FastifyReply> {
  const message = 'A signed link is for the original: leave preview out, or send a credential.';
  if (isSignedLinkRequest(request)) throw invalidParamError('preview', message);
  const { accountId } = gate.requireCaller(request);
  const { digest, expiresAt, ...file } = await reader.find(accountId, request.params.assetId);
  const etag = `"${hash('sha256', `${digest}/${edge}/${PREVIEW_QUALITY}`, 'hex').slice(0, 32)}"`;
  const ends = [expiresAt === null ? null : Date.parse(expiresAt)];
  const headers = { etag, 'cache-control': cacheControlHeader(request, ends, now().getTime()) };
  if (isEtagMatch(request.headers['if-none-match'], etag)) return reply.headers(headers).code(304).send();
  const work = imageWorkers.transform({
    bytes: file,
    pass: previewPass(edge),
    accountId,
    signal: clientGoneSignal(reply),
    deadlineMs: Date.now() + PREVIEW_TIMEOUT_MS,
  });
  gate.keepSlotUntil(request, work.ended);
  const { data, contentType } = await work.result;
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return reply.headers(headers).header('x-content-type-options', 'nosniff').type(contentType).send(bytes);
}

function previewPass(edge: number): TransformCall['pass'] {
  return {
    decode: { frame: 'first' },
    steps: [{ operation: 'resize', params: { width: edge, height: edge, fit: 'inside' } }],
    encode: { format: 'webp', quality: PREVIEW_QUALITY, metadata: 'strip' },
  };
}
