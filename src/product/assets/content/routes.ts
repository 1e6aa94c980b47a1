import type { FastifyInstance, FastifyRequest } from 'fastify';
import { answerPreflight, openToEveryOrigin } from '../../../platform/http/hooks/cors.ts';
import type { Objects } from '../../../platform/stores/objects/port.ts';
import type { ByteRange } from '../../../platform/values/byte-range.ts';
import type { Gate } from '../../accounts/gate/gate.ts';
import { AssetParams, ContentQuery } from '../schema.ts';
import type { AssetsStore } from '../store.ts';
import { disposition } from './content.ts';
import { isLink, type Links } from './links.ts';
import { findDone, openContent } from './reading.ts';
import { sendRanged } from './sending.ts';

interface ContentRoutesOptions {
  gate: Gate;
  store: AssetsStore;
  objects: Objects;
  links: Links;
  now: () => Date;
}

/** This policy prevents an uploaded SVG from running scripts or loading resources when a browser opens it. */
const CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/** GET /assets/{id}/content: the bytes, for their owner and for the holder of a signed link. */
export async function contentRoutes(
  app: FastifyInstance,
  { gate, store, objects, links, now }: ContentRoutesOptions,
): Promise<void> {
  openToEveryOrigin(app, isLink);
  answerPreflight(app, '/assets/:assetId/content', { methods: ['GET', 'HEAD', 'PUT'], isSigned: isLink });

  app.get<{ Params: AssetParams; Querystring: ContentQuery }>(
    '/assets/:assetId/content',
    {
      config: { access: 'public', ignoresCredential: isLink, responseType: 'image/*' },
      schema: {
        summary: 'Read the bytes of an asset',
        description: 'With a credential, or without one by a signed link. Answers single ranges and ETags.',
        security: [{ apiKey: [] }, { session: [] }, {}],
        params: AssetParams,
        querystring: ContentQuery,
      },
    },
    async (request, reply) => {
      const asset = await findDone(store, readerOf(request), request.params.assetId);
      const { mimeType: type, bytes: sizeBytes } = asset.image;
      const shown = request.query.download === true ? 'attachment' : 'inline';
      const file = {
        type,
        sizeBytes,
        etag: `"${asset.digest}"`,
        ends: endsOf(asset, request.query),
        headers: {
          'content-disposition': disposition(shown, asset),
          'x-content-type-options': 'nosniff',
          'content-security-policy': CONTENT_POLICY,
        },
        open: async (range: ByteRange | null) => (await openContent(objects, asset, range)).body,
      };
      return sendRanged(request, reply, file, now().getTime());
    },
  );

  /** The account whose asset may be read: the link's, else the caller's. */
  function readerOf(request: FastifyRequest<{ Params: AssetParams; Querystring: ContentQuery }>): string {
    const { params, query } = request;
    if (!isLink(request)) return gate.requireCaller(request).accountId;
    return links.ownerOf('asset-content', params.assetId, query);
  }
}

/** The earlier end of the asset and of the link. */
function endsOf(
  { expiresAt }: { expiresAt: string | null },
  { expires }: ContentQuery,
): Array<number | null> {
  return [expiresAt === null ? null : Date.parse(expiresAt), expires === undefined ? null : Number(expires)];
}
