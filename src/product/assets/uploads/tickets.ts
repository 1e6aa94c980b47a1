import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { mediaTypeOf, READABLE_MEDIA_TYPES } from '../../../platform/http/bodies/image-body.ts';
import { Multipart } from '../../../platform/http/bodies/multipart.ts';
import { announcedBytes } from '../../../platform/http/bodies/streamed-body.ts';
import { clientGoneSignal } from '../../../platform/http/connection/client.ts';
import { envelopeSchemaOf, sendCreated, successEnvelope } from '../../../platform/http/envelope.ts';
import { ApiError } from '../../../platform/http/errors/errors.ts';
import { declarePreflightRoute, openToEveryOrigin } from '../../../platform/http/hooks/cors.ts';
import type { CallGate } from '../../accounts/gate/gate.ts';
import { type AccountLinks, isSignedLinkRequest } from '../content/links.ts';
import { ticketNotAcceptedError, ticketWithoutBytesError } from '../errors.ts';
import { MAX_UPLOAD_BYTES, UPLOAD_URL_LIFE_MS } from '../limits.ts';
import { Asset, AssetParams, UploadTicket, UploadTicketBody, UploadTicketQuery } from '../schema.ts';
import { type IncomingImage, openBodyImage } from './intake.ts';
import { assetFieldsOf, uploadedAssetData } from './routes.ts';
import type { Uploads } from './uploads.ts';

interface TicketRoutesOptions {
  gate: CallGate;
  uploads: Uploads;
  links: AccountLinks;
}

/**
 * The routes of tickets. A ticket is an address for one upload, for a program that has no API key, such as the shell of
 * an agent. It consists of a reserved asset and a signed address that contains the limits of the upload.
 */
export async function ticketRoutes(app: FastifyInstance, options: TicketRoutesOptions): Promise<void> {
  const { gate, uploads, links } = options;
  openToEveryOrigin(app, isSignedLinkRequest);
  declarePreflightRoute(app, '/upload-tickets/:assetId', {
    methods: ['POST'],
    isSigned: isSignedLinkRequest,
  });

  app.post<{ Body: UploadTicketBody }>(
    '/upload-tickets',
    {
      config: {
        body: 'optional',
        idempotency: 'kept',
        recheck: (_request, { body }) => assetFieldsOf(body as UploadTicketBody),
      },
      schema: {
        summary: 'Make an upload ticket',
        description:
          'Its signed url takes one image by POST, raw or as a multipart `file` part, without a credential.',
        body: UploadTicketBody,
        response: { 201: envelopeSchemaOf(UploadTicket) },
      },
    },
    async (request, reply) => {
      const caller = gate.requireCaller(request);
      const { contentTypes, maxBytes, expiresInSeconds = UPLOAD_URL_LIFE_MS / 1000 } = request.body;
      const asset = await uploads.reserveAsset(caller, assetFieldsOf(request.body));
      const expiresAt = new Date(Date.parse(asset.createdAt) + expiresInSeconds * 1000);
      const bounds = {
        ...(contentTypes && { contentTypes: contentTypes.join(',') }),
        ...(maxBytes && { maxBytes: String(maxBytes) }),
      };
      const query = Object.entries(bounds).map(([name, value]) => `${name}=${value}`);
      const path = `/upload-tickets/${asset._id}${query.length > 0 ? `?${query.join('&')}` : ''}`;
      const ticket: UploadTicket = {
        assetId: asset._id,
        method: 'POST',
        url: links.urlOf(path, ticketGrantOf(asset._id, bounds), asset.accountId, expiresAt),
        contentTypes: contentTypes ?? READABLE_MEDIA_TYPES,
        maxBytes: maxBytes ?? MAX_UPLOAD_BYTES,
        expiresAt: expiresAt.toISOString(),
      };
      return sendCreated(reply, `/assets/${asset._id}`, 'Upload address made.', ticket);
    },
  );

  app.post<{ Params: AssetParams; Querystring: UploadTicketQuery }>(
    '/upload-tickets/:assetId',
    {
      config: { access: 'public', ignoresCredential: () => true, body: 'stream', formFields: {} },
      schema: {
        summary: 'Upload by a ticket',
        description:
          'Under its signed url alone, once: an address that was altered, was used or has expired is 404.',
        params: AssetParams,
        querystring: UploadTicketQuery,
        response: { 200: envelopeSchemaOf(Asset) },
      },
    },
    async (request, reply) => {
      const { params, query } = request;
      const accountId = requireOwnerId(params.assetId, query);
      const { contentTypes, maxBytes } = query;
      using image = await openTicketImage(request, Number(maxBytes ?? MAX_UPLOAD_BYTES));
      const options = { clientSignal: clientGoneSignal(reply), palette: undefined };
      const types = contentTypes?.split(',');
      const uploaded = await uploads.tryUpload(accountId, params.assetId, image, options, types);
      if (uploaded === null) throw ticketNotAcceptedError();
      return successEnvelope('Image stored.', uploadedAssetData(uploaded, {}));
    },
  );

  /**
   * The account for which an address was made.
   * @throws ApiError 404 not_found on `ticket`.
   */
  function requireOwnerId(assetId: string, query: UploadTicketQuery): string {
    try {
      return links.requireOwner(ticketGrantOf(assetId, query), query);
    } catch (error) {
      throw error instanceof ApiError ? ticketNotAcceptedError() : error;
    }
  }
}

/**
 * The right that a ticket's address grants: one upload to an asset, within limits. The id is JSON, because media types
 * contain slashes: joined by a separator, a part of one limit could be sent as a part of another.
 */
function ticketGrantOf(assetId: string, { contentTypes = '', maxBytes = '' }: UploadTicketQuery) {
  return { grant: 'upload-ticket', id: JSON.stringify([assetId, contentTypes, maxBytes]) } as const;
}

/**
 * Opens the file of a multipart body. Any other body is the file itself, whatever its Content-Type, because curl sends
 * the type of a form by default.
 * @throws ApiError invalid_param on `file` for a body without bytes. The ticket remains valid.
 */
async function openTicketImage(request: FastifyRequest, limitBytes: number): Promise<IncomingImage> {
  const isEmpty = request.headers['transfer-encoding'] === undefined && !announcedBytes(request);
  if (isEmpty) throw ticketWithoutBytesError();
  if (mediaTypeOf(request) !== 'multipart/form-data') return openBodyImage(request, request.raw, limitBytes);
  const options = { bodyLimitBytes: MAX_UPLOAD_BYTES, fileLimitBytes: limitBytes };
  const multipart = await Multipart.open(request, request.body as Readable, options);
  // The rest of the body is read before the file ends, so that a faulty body creates no asset.
  async function* bytes() {
    yield* multipart.file.bytes;
    await multipart.fields();
  }
  const { filename } = multipart.file;
  return { bytes: bytes(), filename, [Symbol.dispose]: () => multipart[Symbol.dispose]() };
}
