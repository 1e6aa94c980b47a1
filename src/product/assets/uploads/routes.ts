import type { FastifyInstance } from 'fastify';
import { checkImageBody } from '../../../platform/http/bodies/image-body.ts';
import { clientGoneSignal } from '../../../platform/http/connection/client-gone.ts';
import { sendCreated } from '../../../platform/http/created.ts';
import { envelopeOf, success } from '../../../platform/http/envelope.ts';
import { openToEveryOrigin } from '../../../platform/http/hooks/cors.ts';
import type { Gate } from '../../accounts/gate/gate.ts';
import { assetOf } from '../asset.ts';
import type { Links } from '../content/links.ts';
import { assetName, collectionName } from '../rules.ts';
import { Asset, AssetParams, PutQuery, Reservation, Reserved, UploadQuery, UrlUpload } from '../schema.ts';
import { type IncomingImages, openRaw } from './incoming.ts';
import { putEnd, type Uploads } from './uploads.ts';

interface UploadRoutesOptions {
  gate: Gate;
  uploads: Uploads;
  incoming: IncomingImages;
  links: Links;
}

/** The routes that create assets: from a body, from a URL, or from a later PUT to a signed upload URL. */
export async function uploadRoutes(app: FastifyInstance, options: UploadRoutesOptions): Promise<void> {
  const { gate, uploads, incoming, links } = options;
  openToEveryOrigin(app, ({ method }) => method === 'PUT');

  app.post<{ Querystring: UploadQuery }>(
    '/assets/upload',
    {
      config: { body: 'stream', reference: UrlUpload, check: checkImageBody, fixedWord: true },
      schema: {
        summary: 'Upload an image',
        description:
          'Takes raw bytes with their own Content-Type, a multipart `file` part, or JSON with a `url`. Bytes that were uploaded before are that asset, answered with 200.',
        querystring: UploadQuery,
        response: { 200: envelopeOf(Asset), 201: envelopeOf(Asset) },
      },
    },
    async (request, reply) => {
      const caller = gate.requireCaller(request);
      const client = clientGoneSignal(reply);
      const labels = { ...labelsOf(request.query), expiresAt: null };
      using image = await incoming.open(request, caller.accountId, client);
      const { asset, isNew } = await uploads.receive(caller, labels, image, client);
      if (!isNew) return success('These bytes are an asset already.', assetOf(asset));
      return sendCreated(reply, `/assets/${asset._id}`, 'Image stored.', assetOf(asset));
    },
  );

  app.post<{ Body: Reservation }>(
    '/assets',
    {
      config: { idempotency: 'kept', uploadsAt: 'POST /api/v1/assets/upload' },
      schema: {
        summary: 'Reserve an asset',
        description: 'Answers a signed url to put the bytes to, within 15 minutes and without a credential.',
        body: Reservation,
        response: { 201: envelopeOf(Reserved) },
      },
    },
    async (request, reply) => {
      const caller = gate.requireCaller(request);
      const { contentType } = request.body;
      const asset = await uploads.reserveAsset(caller, labelsOf(request.body));
      const expiresAt = putEnd(asset);
      const upload = {
        method: 'PUT',
        url: links.sign('asset-put', asset.accountId, asset._id, expiresAt),
        headers: { 'content-type': contentType },
        expiresAt: expiresAt.toISOString(),
      };
      return sendCreated(reply, `/assets/${asset._id}`, 'Asset reserved.', { asset: assetOf(asset), upload });
    },
  );

  app.put<{ Params: AssetParams; Querystring: PutQuery }>(
    '/assets/:assetId/content',
    {
      config: { access: 'public', ignoresCredential: () => true, body: 'stream' },
      schema: {
        summary: 'Put the bytes of a reserved asset',
        description: 'Under its signed upload url alone, once.',
        params: AssetParams,
        querystring: PutQuery,
        response: { 200: envelopeOf(Asset) },
      },
    },
    async (request, reply) => {
      const { assetId } = request.params;
      const accountId = links.ownerOf('asset-put', assetId, request.query);
      using image = openRaw(request, request.raw);
      const asset = await uploads.put(accountId, assetId, image, clientGoneSignal(reply));
      return success('Image stored.', assetOf(asset));
    },
  );
}

/** The name and the collection of an uploaded asset. */
function labelsOf({ name, collection }: UploadQuery) {
  return {
    name: assetName(name, null),
    collection: collection === undefined ? null : collectionName(collection, 'collection'),
    origin: 'upload',
    jobId: null,
    itemIndex: null,
  } as const;
}
