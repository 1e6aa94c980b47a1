import { Readable } from 'node:stream';
import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { refuseUnreadablePaths } from '../../platform/http/connection/unreadable.ts';
import { envelopeSchemaOf, successEnvelope } from '../../platform/http/envelope.ts';
import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { asApiError } from '../../platform/http/errors/failures.ts';
import { textField } from '../../platform/http/fields.ts';
import { isEtagMatch } from '../../platform/http/hooks/caching.ts';
import { declarePreflightRoute, openToEveryOrigin, varyBy } from '../../platform/http/hooks/cors.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import { ADDRESS_PREFIX, parseDeliveryAddress } from './address.ts';
import type { AddressCache, CachedAddress, SignedAddress } from './address-cache.ts';
import { isSourceError, noSuchPictureError, withDeliveryCaching } from './errors.ts';
import { pictureCacheControl, pictureHeadersOf, quoteEtag } from './headers.ts';
import type { SignedLinks } from './links.ts';
import type { CachedPicture, DeliveredPictures } from './pictures.ts';
import type { AddressResolver } from './resolver.ts';
import { type DeliveryLink, DeliveryLinks, NewDeliveryLinks } from './schema.ts';
import type { SigningKeyCache } from './signers.ts';

interface DeliveryRoutesOptions {
  gate: Pick<CallGate, 'isBlocked' | 'countFailure'>;
  signers: SigningKeyCache;
  addresses: AddressCache;
  resolver: AddressResolver;
  pictures: DeliveredPictures;
  now: () => Date;
}

const query = Type.Object({
  exp: Type.Optional(textField('Epoch seconds; a part of what is signed.')),
});
const addressFields = {
  keyId: textField('`sgk_…`'),
  signature: textField(
    'The first 32 characters of the base64url of HMAC-SHA256 over the rest of the path, and `?exp=…` if there is one.',
  ),
  source: textField('An asset id, or `url:` and the base64url of a public address.'),
};
const WORK_DESCRIPTION =
  '`<preset>@<version>`, or one to five ops joined by `;`, each `<op>:<name>=<value>,<name>=<value>`.';

/** Serves GET /d/…: pictures at signed addresses, which need no other credential. */
export async function deliveryRoutes(app: FastifyInstance, options: DeliveryRoutesOptions): Promise<void> {
  const { deliver } = new DeliveryCalls(options);
  openToEveryOrigin(app, () => true);
  refuseUnreadablePaths(app, ADDRESS_PREFIX, noSuchPictureError);
  declarePreflightRoute(app, '/d/*', { methods: ['GET', 'HEAD'], isSigned: () => true });

  // The query is not validated against a schema. A malformed query is refused like a wrong signature, and unknown
  // fields are ignored.
  const acceptAnyValue = () => () => true;
  const config = { responseType: 'image/*', isUncounted: true, ignoresAccept: true } as const;
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
        params: Type.Object({ ...addressFields, what: textField(WORK_DESCRIPTION) }),
        querystring: query,
      },
      validatorCompiler: acceptAnyValue,
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
          ...addressFields,
          what: textField('`<preset>@<version>`'),
          width: textField('`<width>[@<dpr>].<ext>`'),
        }),
        querystring: query,
      },
      validatorCompiler: acceptAnyValue,
    },
    deliver,
  );
  // Every other path is refused like a wrong signature.
  app.get('/d/*', { config, schema: { hide: true } }, deliver);
}

/** Answers the requests to signed addresses. */
class DeliveryCalls {
  readonly #options: DeliveryRoutesOptions;

  constructor(options: DeliveryRoutesOptions) {
    this.#options = options;
  }

  /** Serves a picture. A picture in memory is sent synchronously, without awaiting a promise. */
  readonly deliver = (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> | undefined => {
    const known = this.#options.addresses.find(request.raw.url ?? '', request.headers.accept);
    if (known !== null && this.#sendAtOnce(request, reply, known)) return undefined;
    return this.#servePicture(request, reply, known).catch((error: unknown) => {
      const refusal = asApiError(error);
      if (refusal.status >= 500 && refusal !== error) request.log.error({ err: error }, refusal.message);
      throw withDeliveryCaching(refusal);
    });
  };

  async #servePicture(
    request: FastifyRequest,
    reply: FastifyReply,
    known: CachedAddress | null,
  ): Promise<FastifyReply> {
    const signed = known ?? (await this.#verify(request));
    if (signed.address.extension === 'auto') varyBy(reply, 'Accept');
    try {
      const found = known ?? (await this.#resolve(request, signed));
      if (known === null && this.#sendAtOnce(request, reply, found)) return reply;
      return this.#send(request, reply, found, await this.#options.pictures.findOrMake(found.requested));
    } catch (error) {
      if (!isSourceError(error)) throw error;
      const answered = await this.#sendFallback(request, reply, signed);
      if (answered === null) throw error;
      return answered;
    }
  }

  /**
   * Verifies the address of a request.
   * @throws ApiError 404, or 429 after too many wrong addresses from the client.
   */
  async #verify(request: FastifyRequest): Promise<SignedAddress> {
    const address = parseDeliveryAddress(request.raw.url ?? '');
    // Even a blocked client may use addresses of known keys, because it may be a cache or a proxy that many people
    // share.
    const signer =
      address &&
      (await this.#options.signers.verify(address, { mayReadStore: !this.#options.gate.isBlocked(request) }));
    if (address === null || signer === null)
      throw await this.#options.gate.countFailure(request, noSuchPictureError());
    return { address, signer };
  }

  async #resolve({ raw, headers }: FastifyRequest, signed: SignedAddress): Promise<CachedAddress> {
    const { accept } = headers;
    const known = {
      ...signed,
      requested: await this.#options.resolver.resolve(signed.address, signed.signer, accept),
    };
    this.#options.addresses.store(raw.url ?? '', accept, known);
    return known;
  }

  /**
   * Sends the fallback that the preset declares. Its headers prevent caches from storing it. Returns null if there is
   * no fallback, or if its source is unreachable as well.
   */
  async #sendFallback(
    request: FastifyRequest,
    reply: FastifyReply,
    signed: SignedAddress,
  ): Promise<FastifyReply | null> {
    try {
      const accept = request.headers.accept;
      const found = await this.#options.resolver.resolveFallback(signed.address, signed.signer, accept);
      if (found === null) return null;
      const picture = await this.#options.pictures.findOrMake(found.requested);
      this.#withHeaders(reply.code(found.status), { ...signed, requested: found.requested }, picture);
      return reply
        .header('cache-control', 'no-store')
        .removeHeader('etag')
        .send(request.method === 'HEAD' ? Readable.from([]) : picture.bytes);
    } catch (error) {
      if (isSourceError(error)) return null;
      throw error;
    }
  }

  /**
   * Sends the response if it needs no read and no work: the picture is in memory, or its ETag alone is enough. Returns
   * false otherwise.
   */
  #sendAtOnce(request: FastifyRequest, reply: FastifyReply, known: CachedAddress): boolean {
    const { etag } = known.requested;
    const needsNoBytes =
      etag !== null &&
      (request.method === 'HEAD' || isEtagMatch(request.headers['if-none-match'], quoteEtag(etag)));
    const picture = this.#options.pictures.findInMemory(known.requested);
    if (picture === null && !needsNoBytes) return false;
    this.#send(request, reply, known, picture);
    return true;
  }

  /**
   * Sends the response.
   * @param picture null if the ETag is enough: the client already has the picture, or the request is a HEAD.
   */
  #send(
    { headers }: FastifyRequest,
    reply: FastifyReply,
    known: CachedAddress,
    picture: CachedPicture | null,
  ): FastifyReply {
    const etag = quoteEtag(picture?.etag ?? known.requested.etag ?? '');
    this.#withHeaders(reply, known, picture);
    if (isEtagMatch(headers['if-none-match'], etag)) return reply.code(304).send();
    if (picture === null) return reply.send(Readable.from([]));
    return reply.send(picture.bytes);
  }

  #withHeaders(reply: FastifyReply, known: CachedAddress, picture: CachedPicture | null): FastifyReply {
    const { address, requested } = known;
    if (address.extension === 'auto') varyBy(reply, 'Accept');
    return reply
      .headers(pictureHeadersOf(requested, picture))
      .header('cache-control', pictureCacheControl(address, requested, this.#options.now().getTime()));
  }
}

/** Serves POST /delivery-links, which makes addresses for callers that cannot sign them. */
export async function linkRoutes(
  app: FastifyInstance,
  { links, gate }: { links: SignedLinks; gate: CallGate },
): Promise<void> {
  app.post<{ Body: NewDeliveryLinks }>(
    '/delivery-links',
    {
      config: {
        idempotency: 'unkept',
        recheck: (request, { body }) =>
          links.checkWork(gate.requireCaller(request).accountId, body as NewDeliveryLinks),
      },
      schema: {
        summary: 'Sign addresses of pictures',
        description:
          'Answers an address for an `<img>`, with `widths` a family with its srcset. Signed by the newest signing key of the account; one is made if there is none. Nothing is made or counted until the picture is asked for.',
        body: NewDeliveryLinks,
        response: { 200: envelopeSchemaOf(DeliveryLinks) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const { links: sent, ...single } = request.body;
      const [extra] = Object.keys(single);
      if (sent !== undefined && extra !== undefined)
        throw invalidParamError(extra, `${extra} may not accompany links: move it into a link.`);
      const key = await links.ensureSigningKey(accountId);
      if (sent === undefined)
        return successEnvelope('Address signed.', await links.makeLink(key, single, ''));
      const made: DeliveryLink[] = [];
      // Links are made one after the other. Links with the same long steps then share one saved preset.
      for (const [index, link] of sent.entries())
        made.push(await links.makeLink(key, link, `links[${index}].`));
      return successEnvelope('Addresses signed.', { links: made });
    },
  );
}
