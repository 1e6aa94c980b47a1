import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { READABLE_TYPES } from '../../../imaging/images/source.ts';
import { mediaTypeOf } from '../../../platform/http/bodies/image-body.ts';
import { Multipart } from '../../../platform/http/bodies/multipart.ts';
import { announcedBytes } from '../../../platform/http/bodies/streamed-body.ts';
import { clientGoneSignal } from '../../../platform/http/connection/client-gone.ts';
import { sendCreated } from '../../../platform/http/created.ts';
import { envelopeOf, success } from '../../../platform/http/envelope.ts';
import { ApiError } from '../../../platform/http/errors/errors.ts';
import { answerPreflight, openToEveryOrigin } from '../../../platform/http/hooks/cors.ts';
import type { Signatures } from '../../../platform/http/signatures.ts';
import type { Gate } from '../../accounts/gate/gate.ts';
import { isLink, linkQuery, verifyLink } from '../content/links.ts';
import { ticketNotAccepted, ticketWithoutBytes } from '../errors.ts';
import { MAX_UPLOAD_BYTES, PUT_LIFE_MS } from '../limits.ts';
import { Asset, AssetParams, TicketQuery, TicketRequest, UploadTicket } from '../schema.ts';
import { type IncomingImage, openRaw } from './incoming.ts';
import { labelsOf, shownOf } from './routes.ts';
import type { Uploads } from './uploads.ts';

interface TicketRoutesOptions {
  gate: Gate;
  uploads: Uploads;
  signatures: Signatures;
  publicUrl: () => string;
  now: () => Date;
}

/**
 * Tickets: addresses for one upload each, which a program without the key may use, such as the shell of an agent. A
 * ticket is a reserved asset and a signed address, which contains the limits of the upload.
 */
export async function ticketRoutes(app: FastifyInstance, options: TicketRoutesOptions): Promise<void> {
  const { gate, uploads, signatures, publicUrl, now } = options;
  openToEveryOrigin(app, isLink);
  answerPreflight(app, '/upload-tickets/:assetId', { methods: ['POST'], isSigned: isLink });

  app.post<{ Body: TicketRequest }>(
    '/upload-tickets',
    {
      config: {
        body: 'optional',
        idempotency: 'kept',
        recheck: (_request, { body }) => labelsOf(body as TicketRequest),
      },
      schema: {
        summary: 'Make an upload ticket',
        description:
          'Its signed url takes one image by POST, raw or as a multipart `file` part, without a credential.',
        body: TicketRequest,
        response: { 201: envelopeOf(UploadTicket) },
      },
    },
    async (request, reply) => {
      const caller = gate.requireCaller(request);
      const { contentTypes, maxBytes, expiresInSeconds = PUT_LIFE_MS / 1000 } = request.body;
      const asset = await uploads.reserveAsset(caller, labelsOf(request.body));
      const expiresAt = new Date(Date.parse(asset.createdAt) + expiresInSeconds * 1000);
      const bounds = {
        ...(contentTypes && { contentTypes: contentTypes.join(',') }),
        ...(maxBytes && { maxBytes: String(maxBytes) }),
      };
      const signed = linkQuery(signatures, grantOf(asset._id, bounds), asset.accountId, expiresAt);
      const query = [...Object.entries(bounds).map(([name, value]) => `${name}=${value}`), signed].join('&');
      const ticket: UploadTicket = {
        assetId: asset._id,
        method: 'POST',
        url: `${publicUrl()}/api/v1/upload-tickets/${asset._id}?${query}`,
        contentTypes: contentTypes ?? READABLE_TYPES,
        maxBytes: maxBytes ?? MAX_UPLOAD_BYTES,
        expiresAt: expiresAt.toISOString(),
      };
      return sendCreated(reply, `/assets/${asset._id}`, 'Upload address made.', ticket);
    },
  );

  app.post<{ Params: AssetParams; Querystring: TicketQuery }>(
    '/upload-tickets/:assetId',
    {
      config: { access: 'public', ignoresCredential: () => true, body: 'stream', formFields: {} },
      schema: {
        summary: 'Upload by a ticket',
        description:
          'Under its signed url alone, once: an address that was altered, was used or has expired is 404.',
        params: AssetParams,
        querystring: TicketQuery,
        response: { 200: envelopeOf(Asset) },
      },
    },
    async (request, reply) => {
      const { params, query } = request;
      const accountId = findOwner(params.assetId, query);
      const { contentTypes, maxBytes } = query;
      using image = await openUpload(request, Number(maxBytes ?? MAX_UPLOAD_BYTES));
      const options = { client: clientGoneSignal(reply), palette: undefined };
      const types = contentTypes?.split(',');
      const uploaded = await uploads.fill(accountId, params.assetId, image, options, types);
      if (uploaded === null) throw ticketNotAccepted();
      return success('Image stored.', shownOf(uploaded, {}));
    },
  );

  /**
   * The account for which an address was made.
   * @throws ApiError 404 not_found on `ticket`.
   */
  function findOwner(assetId: string, query: TicketQuery): string {
    try {
      return verifyLink(signatures, grantOf(assetId, query), query, now());
    } catch (error) {
      throw error instanceof ApiError ? ticketNotAccepted() : error;
    }
  }
}

/** The right that a ticket's address grants: one upload to an asset, within limits. */
function grantOf(assetId: string, { contentTypes = '', maxBytes = '' }: TicketQuery) {
  return { grant: 'upload-ticket', id: `${assetId}/${contentTypes}/${maxBytes}` };
}

/**
 * Opens the file of a multipart body, else the whole body, regardless of its Content-Type, because curl sends the type
 * of a form.
 * @throws ApiError invalid_param on `file` for a body without bytes; the ticket can be used again then.
 */
async function openUpload(request: FastifyRequest, limitBytes: number): Promise<IncomingImage> {
  const isEmpty = request.headers['transfer-encoding'] === undefined && !announcedBytes(request);
  if (isEmpty) throw ticketWithoutBytes();
  if (mediaTypeOf(request) !== 'multipart/form-data') return openRaw(request, request.raw, limitBytes);
  const multipart = await Multipart.open(request, request.body as Readable, {
    bodyLimitBytes: MAX_UPLOAD_BYTES,
    fileLimitBytes: limitBytes,
  });
  // An error after the file ends its bytes, so that a faulty body leaves nothing.
  async function* bytes() {
    yield* multipart.file.bytes;
    await multipart.fields();
  }
  const { filename } = multipart.file;
  return { bytes: bytes(), filename, [Symbol.dispose]: () => multipart[Symbol.dispose]() };
}
