import type { FastifyInstance, FastifyRequest } from 'fastify';
import { checkImageContentType } from '../../../platform/http/bodies/image-body.ts';
import { clientGoneSignal } from '../../../platform/http/connection/client.ts';
import { envelopeSchemaOf, sendCreated, successEnvelope } from '../../../platform/http/envelope.ts';
import type { ApiError } from '../../../platform/http/errors/errors.ts';
import { apiErrorBody, asApiError } from '../../../platform/http/errors/failures.ts';
import { openToEveryOrigin } from '../../../platform/http/hooks/cors.ts';
import { addWarnings, type CallWarning, warningPerName } from '../../../platform/http/hooks/warnings.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import type { CallGate } from '../../accounts/gate/gate.ts';
import { type AssetLabels, assetResponseOf } from '../asset.ts';
import type { AccountLinks } from '../content/links.ts';
import { MAX_UPLOAD_FILES } from '../limits.ts';
import { assetNameOrNull, checkCollectionName } from '../rules.ts';
import {
  Asset,
  AssetParams,
  AssetReservationBody,
  ReservedAsset,
  SignedUploadQuery,
  UploadQuery,
  UploadResult,
  UrlUploadBody,
} from '../schema.ts';
import {
  checkUrlUpload,
  type IncomingImage,
  type IncomingImageReader,
  type IncomingImagesBody,
  openBodyImage,
} from './intake.ts';
import {
  type AssetOwner,
  type FinishOptions,
  type StoredUpload,
  type UploadedAsset,
  type Uploads,
  uploadUrlExpiry,
} from './uploads.ts';

interface UploadRoutesOptions {
  gate: CallGate;
  uploads: Uploads;
  incoming: IncomingImageReader;
  links: AccountLinks;
}

/** The routes that create assets: from a body, from a URL, or from a later PUT to a signed upload URL. */
export async function uploadRoutes(app: FastifyInstance, options: UploadRoutesOptions): Promise<void> {
  const { gate, uploads, incoming, links } = options;
  openToEveryOrigin(app, ({ method }) => method === 'PUT');

  app.post<{ Querystring: UploadQuery }>(
    '/assets/upload',
    {
      config: {
        ...{ body: 'stream', reference: UrlUploadBody, check: checkImageContentType, fixedWord: true },
        recheck(_request, { query, body }) {
          assetFieldsOf(query);
          if (body !== undefined) checkUrlUpload(body);
        },
      },
      schema: {
        summary: 'Upload an image',
        description: `Takes raw bytes with their own Content-Type, a multipart \`file\` part, or JSON with a \`url\`. Bytes that were uploaded before are that asset, answered with 200. \`file\` may be sent up to ${MAX_UPLOAD_FILES} times: the answer is then 201 with \`assets\`, and with \`errors\` for the files that are refused; \`name\` and \`collection\` hold for all that are new.`,
        querystring: UploadQuery,
        response: { 200: envelopeSchemaOf(Asset), 201: envelopeSchemaOf(UploadResult) },
      },
    },
    async (request, reply) => {
      const owner = gate.requireCaller(request);
      const { query } = request;
      const clientSignal = clientGoneSignal(reply);
      const labels = { ...assetFieldsOf(query), expiresAt: null };
      using body = await incoming.open(request, owner.accountId, clientSignal);
      const options = { clientSignal, palette: query.palette };
      const { outcomes, ignored } = await receiveImages(uploads, body, owner, labels, options);
      addWarnings(reply, [
        ...warningPerName('ignored_parameter', ignored),
        ...ignoredLabelWarnings(labels, outcomes),
      ]);
      const [first, ...others] = outcomes;
      if (first === undefined) throw new Error('An upload has no image.');
      if (!outcomes.some((outcome) => 'asset' in outcome) && 'refusal' in first) throw first.refusal;
      if (others.length > 0 || 'refusal' in first)
        return sendCreated(reply, '/assets', 'Images stored.', uploadResultsOf(request, outcomes));
      const shown = uploadedAssetData(first, query);
      if (!first.isNew) return successEnvelope('These bytes are an asset already.', shown);
      return sendCreated(reply, `/assets/${first.asset._id}`, 'Image stored.', shown);
    },
  );

  app.post<{ Body: AssetReservationBody }>(
    '/assets',
    {
      config: {
        idempotency: 'kept',
        uploadsAt: 'POST /api/v1/assets/upload',
        recheck: (_request, { body }) => assetFieldsOf(body as AssetReservationBody),
      },
      schema: {
        summary: 'Reserve an asset',
        description: 'Answers a signed url to put the bytes to, within 15 minutes and without a credential.',
        body: AssetReservationBody,
        response: { 201: envelopeSchemaOf(ReservedAsset) },
      },
    },
    async (request, reply) => {
      const { contentType } = request.body;
      const asset = await uploads.reserveAsset(gate.requireCaller(request), assetFieldsOf(request.body));
      const { _id: id, accountId } = asset;
      const expiresAt = uploadUrlExpiry(asset);
      const upload = {
        method: 'PUT',
        url: links.urlOf(`/assets/${id}/content`, { grant: 'asset-put', id }, accountId, expiresAt),
        headers: { 'content-type': contentType },
        expiresAt: expiresAt.toISOString(),
      };
      const data = { asset: assetResponseOf(asset), upload };
      return sendCreated(reply, `/assets/${id}`, 'Asset reserved.', data);
    },
  );

  app.put<{ Params: AssetParams; Querystring: SignedUploadQuery }>(
    '/assets/:assetId/content',
    {
      config: { access: 'public', ignoresCredential: () => true, body: 'stream' },
      schema: {
        summary: 'Upload a reserved asset',
        description: 'Under its signed upload url alone, once.',
        params: AssetParams,
        querystring: SignedUploadQuery,
        response: { 200: envelopeSchemaOf(Asset) },
      },
    },
    async (request, reply) => {
      const { assetId } = request.params;
      const { query } = request;
      const accountId = links.requireOwner({ grant: 'asset-put', id: assetId }, query);
      using image = openBodyImage(request, request.raw);
      const options = { clientSignal: clientGoneSignal(reply), palette: query.palette };
      const uploaded = await uploads.upload(accountId, assetId, image, options);
      return successEnvelope('Image stored.', uploadedAssetData(uploaded, query));
    },
  );
}

/** An asset as the response to its upload shows it. The metadata tags of the file are included only on request. */
export function uploadedAssetData(
  { asset, palette }: UploadedAsset,
  query: Pick<UploadQuery, 'metadata'>,
): Asset {
  const { metadata, image, ...labels } = assetResponseOf(asset);
  return {
    ...labels,
    ...withoutAbsentFields({ image: image && { ...image, ...withoutAbsentFields({ palette }) } }),
    ...(query.metadata === true && withoutAbsentFields({ metadata })),
  };
}

/**
 * The response to an upload of several images. Internal errors among the results are logged here, because they are not
 * thrown.
 */
function uploadResultsOf(
  { id, log, query }: FastifyRequest<{ Querystring: UploadQuery }>,
  outcomes: readonly (UploadedAsset | RefusedFile)[],
): Pick<UploadResult, 'assets' | 'errors'> {
  const assets: Asset[] = [];
  const errors: NonNullable<UploadResult['errors']> = [];
  for (const [index, outcome] of outcomes.entries()) {
    if ('asset' in outcome) {
      assets.push(uploadedAssetData(outcome, query));
      continue;
    }
    const { name, refusal } = outcome;
    if (refusal.status >= 500) log.error({ err: refusal }, refusal.message);
    errors.push({ index, ...withoutAbsentFields({ name }), error: apiErrorBody(refusal, id).error });
  }
  return { assets, ...(errors.length > 0 && { errors }) };
}

export function assetFieldsOf({ name, collection }: Pick<UploadQuery, 'name' | 'collection'>) {
  return {
    name: assetNameOrNull(name, null),
    collection: collection === undefined ? null : checkCollectionName(collection, 'collection'),
    origin: 'upload',
    jobId: null,
    itemIndex: null,
  } as const;
}

interface RefusedFile {
  name: string | null;
  refusal: ApiError;
}

interface ReceivedImages {
  /** The result of each image, in the order of the body. */
  outcomes: (UploadedAsset | RefusedFile)[];
  /** The names of form parts that are not images. */
  ignored: string[];
}

/**
 * Stores the images of a body one after the other. A refused image does not affect the others. The images become assets
 * only at the end of the body, so that a faulty body creates no asset.
 * @throws ApiError for an error of the body.
 */
async function receiveImages(
  uploads: Uploads,
  body: IncomingImagesBody,
  owner: AssetOwner,
  labels: AssetLabels,
  options: FinishOptions,
): Promise<ReceivedImages> {
  const arrivals: (StoredUpload | RefusedFile)[] = [];
  let ignored: string[];
  try {
    for await (const image of body.images) arrivals.push(await receiveImage(image));
    ignored = await body.end();
  } catch (error) {
    for (const arrival of arrivals) if ('sums' in arrival) await uploads.abandon(arrival);
    throw error;
  }
  const outcomes: ReceivedImages['outcomes'] = [];
  for (const arrival of arrivals) outcomes.push('sums' in arrival ? await finish(arrival) : arrival);
  return { outcomes, ignored };

  async function receiveImage(sent: IncomingImage): Promise<StoredUpload | RefusedFile> {
    using image = sent;
    return await uploads
      .storeBytes(owner, labels, image)
      .catch(refusedFileMaker(labels.name ?? image.filename));
  }

  function finish(arrival: StoredUpload): Promise<UploadedAsset | RefusedFile> {
    return uploads.finish(owner, arrival, options).catch(refusedFileMaker(arrival.document.name));
  }
}

/**
 * Warnings about labels of an upload that had no effect. If the account already has the asset, the asset keeps its own
 * labels.
 */
function ignoredLabelWarnings(labels: AssetLabels, outcomes: ReceivedImages['outcomes']): CallWarning[] {
  const existing = outcomes.flatMap((outcome) =>
    'asset' in outcome && !outcome.isNew ? [outcome.asset] : [],
  );
  const unused = (['name', 'collection'] as const).filter(
    (label) => labels[label] !== null && existing.some((asset) => asset[label] !== labels[label]),
  );
  return warningPerName('no_effect', unused);
}

function refusedFileMaker(name: string | null): (error: unknown) => RefusedFile {
  return (error) => ({ name, refusal: asApiError(error) });
}
