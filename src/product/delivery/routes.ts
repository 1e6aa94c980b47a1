import { Readable } from 'node:stream';
import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { asApiError } from '../../platform/http/errors/failures.ts';
import { answerPreflight, openToEveryOrigin, varyBy } from '../../platform/http/hooks/cors.ts';
import { isFresh } from '../../platform/http/hooks/freshness.ts';
import { disposition, fileNameOf } from '../assets/content/content.ts';
import { type Address, parseAddress } from './address.ts';
import { asDelivered, isOfSource, noSuchPicture } from './errors.ts';
import type { Signer, Signers } from './keys/signers.ts';
import { type Ordered, type Orders, URL_FRESH_SECONDS, URL_STALE_SECONDS } from './orders.ts';
import type { Picture, Pictures } from './pictures.ts';

interface DeliveryRoutesOptions {
  signers: Signers;
  orders: Orders;
  pictures: Pictures;
  now: () => Date;
}

/** Seconds in a year, which caches treat as unlimited. */
const MAX_AGE_SECONDS = 31_536_000;
const REVALIDATED_SECONDS = 86_400;

/** A picture that a browser opens by itself runs and loads nothing. */
const CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

const query = Type.Object({
  exp: Type.Optional(Type.String({ description: 'Epoch seconds; a part of what is signed.' })),
});
const part = (description: string) => Type.String({ description });
const common = {
  keyId: part('`sgk_…`'),
  signature: part(
    'The first 32 characters of the base64url of HMAC-SHA256 over the rest of the path, and `?exp=…` if there is one.',
  ),
  source: part('An asset id, or `url:` and the base64url of a public address.'),
};
const WHAT =
  '`<preset>@<version>`, or one to five ops joined by `;`, each `<op>:<name>=<value>,<name>=<value>`.';

/** GET /d/…: pictures by signed addresses, which need no credential. */
export async function deliveryRoutes(
  app: FastifyInstance,
  { signers, orders, pictures, now }: DeliveryRoutesOptions,
): Promise<void> {
  openToEveryOrigin(app, () => true);
  answerPreflight(app, '/d/*', { methods: ['GET', 'HEAD'], isSigned: () => true });

  // What cannot be read is refused as a wrong signature is, and other fields of the query are ignored.
  const unchecked = () => () => true;
  const config = { responseType: 'image/*', isUncounted: true } as const;
  const security: [] = [];
  app.get(
    '/d/:keyId/:signature/:what/:source',
    {
      config,
      schema: {
        summary: 'Deliver a picture',
        description:
          'For an `<img>` of a web page. The source may end with .jpg, .png, .webp, .avif, .gif, .tiff or .auto. Made once, then answered from what is kept. See /docs/guides/delivery.',
        security,
        params: Type.Object({ ...common, what: part(WHAT) }),
        querystring: query,
      },
      validatorCompiler: unchecked,
    },
    deliver,
  );
  app.get(
    '/d/:keyId/:signature/:what/:source/:width',
    {
      config,
      schema: {
        summary: 'Deliver one width of a picture',
        description:
          'The signature is of `<preset>@<version>/<source>/*.<ext>`, so that a browser chooses the width: one that the preset declares.',
        security,
        params: Type.Object({
          ...common,
          what: part('`<preset>@<version>`'),
          width: part('`<width>[@<dpr>].<ext>`'),
        }),
        querystring: query,
      },
      validatorCompiler: unchecked,
    },
    deliver,
  );
  // Every other path is refused as a wrong signature is.
  app.get('/d/*', { config, schema: { hide: true } }, deliver);

  async function deliver(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    try {
      return await answer(request, reply);
    } catch (error) {
      const refusal = asApiError(error);
      if (refusal.status >= 500 && refusal !== error) request.log.error({ err: error }, refusal.message);
      throw asDelivered(refusal);
    }
  }

  async function answer(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const address = parseAddress(request.raw.url ?? '');
    if (address === null) throw noSuchPicture();
    const signer = await signers.verify(address);
    if (address.extension === 'auto') varyBy(reply, 'Accept');
    try {
      return await answerSource(request, reply, address, signer);
    } catch (error) {
      if (!isOfSource(error)) throw error;
      const answered = await answerFallback(request, reply, address, signer);
      if (answered === null) throw error;
      return answered;
    }
  }

  /** Answers what the preset declares, which no cache keeps; null where it declares nothing, or that is away too. */
  async function answerFallback(
    request: FastifyRequest,
    reply: FastifyReply,
    address: Address,
    signer: Signer,
  ): Promise<FastifyReply | null> {
    try {
      const found = await orders.orderFallback(address, signer, request.headers.accept);
      if (found === null) return null;
      const picture = await pictures.get(found.ordered);
      withHeaders(reply.code(found.status), address, found.ordered, picture);
      return reply
        .header('cache-control', 'no-store')
        .removeHeader('etag')
        .send(request.method === 'HEAD' ? Readable.from([]) : picture.bytes);
    } catch (error) {
      if (isOfSource(error)) return null;
      throw error;
    }
  }

  async function answerSource(
    request: FastifyRequest,
    reply: FastifyReply,
    address: Address,
    signer: Signer,
  ): Promise<FastifyReply> {
    const ordered = await orders.order(address, signer, request.headers.accept);
    const known = request.headers['if-none-match'];
    if (ordered.etag !== null && isFresh(known, quoted(ordered.etag)))
      return sendHead(reply.code(304), address, ordered, null);
    const isHead = request.method === 'HEAD';
    const picture =
      isHead && ordered.etag !== null ? await pictures.find(ordered) : await pictures.get(ordered);
    if (picture !== null && isFresh(known, quoted(picture.etag)))
      return sendHead(reply.code(304), address, ordered, picture);
    if (isHead || picture === null) return sendHead(reply, address, ordered, picture);
    return withHeaders(reply, address, ordered, picture).send(picture.bytes);
  }

  function sendHead(
    reply: FastifyReply,
    address: Address,
    ordered: Ordered,
    picture: Picture | null,
  ): FastifyReply {
    return withHeaders(reply, address, ordered, picture).send(Readable.from([]));
  }

  /** @param picture null where it is not made, because the ETag answers. */
  function withHeaders(
    reply: FastifyReply,
    address: Address,
    { asset, etag, format, tags }: Ordered,
    picture: Picture | null,
  ): FastifyReply {
    const type = picture?.contentType ?? (format && `image/${format}`);
    reply.headers({
      'cache-control': caching(address, asset?.expiresAt ?? null, now().getTime()),
      etag: quoted(picture?.etag ?? etag ?? ''),
      'cache-tag': tags.join(','),
      'surrogate-key': tags.join(' '),
      'x-content-type-options': 'nosniff',
      'content-security-policy': CONTENT_POLICY,
      'cross-origin-resource-policy': 'cross-origin',
    });
    if (type !== null) {
      const name = fileNameOf(asset?.name ?? asset?.id ?? 'picture', type.slice('image/'.length), false);
      reply.type(type).header('content-disposition', disposition('inline', name));
    }
    if (picture === null) return reply;
    reply.header('x-service-width', String(picture.width)).header('x-service-height', String(picture.height));
    return reply.statusCode === 304 ? reply : reply.header('content-length', String(picture.bytes.length));
  }
}

function quoted(etag: string): string {
  return `"${etag}"`;
}

/**
 * The Cache-Control header. The picture of an asset never changes; that of a public address is asked for again after an
 * hour. No copy outlives the address or the asset.
 */
function caching({ source, expiresAt }: Address, assetEnd: string | null, nowMs: number): string {
  const ends = [
    ...(expiresAt === null ? [] : [expiresAt * 1000]),
    ...(assetEnd === null ? [] : [Date.parse(assetEnd)]),
  ];
  const left = ends.map((end) => Math.floor((end - nowMs) / 1000));
  const longest = source.kind === 'url' ? URL_FRESH_SECONDS : MAX_AGE_SECONDS;
  const control = `public, max-age=${Math.max(0, Math.min(longest, ...left))}`;
  if (source.kind === 'asset') return `${control}, immutable`;
  if (ends.length > 0) return control;
  return `${control}, stale-while-revalidate=${REVALIDATED_SECONDS}, stale-if-error=${URL_STALE_SECONDS}`;
}
