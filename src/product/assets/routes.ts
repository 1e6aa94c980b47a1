import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { envelopeSchemaOf, pageSchemaOf, successEnvelope } from '../../platform/http/envelope.ts';
import { ApiError, invalidParamError } from '../../platform/http/errors/errors.ts';
import { addWarnings } from '../../platform/http/hooks/warnings.ts';
import type { OnLongRead } from '../../platform/http/lists.ts';
import { createRowWriter, sendLongAnswer } from '../../platform/http/long-answers.ts';
import { type CallGate, LONG_READS_TEXT } from '../accounts/gate/gate.ts';
import { assetResponseOf } from './asset.ts';
import type { AssetCollections } from './collections.ts';
import type { AccountLinks } from './content/links.ts';
import { findAsset, findAssetWithContent } from './content/reader.ts';
import { assetNotFoundError } from './errors.ts';
import { DEFAULT_HASH_DISTANCE } from './likeness.ts';
import type { AssetRemoval } from './removal.ts';
import { linkExpiry } from './rules.ts';
import { Asset, AssetLink, AssetLinkQuery, AssetListQuery, AssetParams, ListedAsset } from './schema.ts';
import type { AssetsStore } from './store.ts';

const writeAsset = createRowWriter(ListedAsset);

interface AssetRoutesOptions {
  gate: CallGate;
  store: AssetsStore;
  collections: AssetCollections;
  removal: AssetRemoval;
  links: AccountLinks;
  now: () => Date;
}

/** The routes of stored assets: reading, listing, linking and deleting. Uploads are in uploads/routes.ts. */
export async function assetRoutes(app: FastifyInstance, options: AssetRoutesOptions): Promise<void> {
  const { gate, store, collections, removal, links, now } = options;

  app.get<{ Querystring: AssetListQuery }>(
    '/assets',
    {
      config: { recheck: (_request, { query }) => checkDistance(query) },
      schema: {
        summary: 'List assets',
        description: `Newest first; with similarTo, the nearest first, by page number alone. ${LONG_READS_TEXT}`,
        querystring: AssetListQuery,
        response: { 200: pageSchemaOf(ListedAsset) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const { query } = request;
      const takeSlot = () => gate.takeSlot(request, reply, 'longReads', accountId);
      if (query.collection !== undefined)
        addWarnings(reply, await collections.warningsAbout(accountId, query.collection));
      if (query.similarTo !== undefined) {
        const { rows, meta } = await listSimilarAssets(store, accountId, query.similarTo, query, takeSlot);
        const data = rows
          .values()
          .map((row) => writeAsset({ ...assetResponseOf(row), distance: row.distance }));
        return sendLongAnswer(reply, accountId, successEnvelope('Similar assets listed.', data, meta));
      }
      checkDistance(query);
      const { rows, meta } = await store.list(accountId, query, takeSlot);
      const data = rows.values().map((row) => writeAsset(assetResponseOf(row)));
      return sendLongAnswer(reply, accountId, successEnvelope('Assets listed.', data, meta));
    },
  );

  app.get<{ Params: AssetParams }>(
    '/assets/:assetId',
    {
      schema: {
        summary: 'Read an asset',
        description: 'Its facts and labels, without its bytes.',
        params: AssetParams,
        response: { 200: envelopeSchemaOf(Asset) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const asset = await findAsset(store, accountId, request.params.assetId);
      addWarnings(reply, asset.warnings ?? []);
      return successEnvelope('Asset read.', assetResponseOf(asset));
    },
  );

  app.get<{ Params: AssetParams; Querystring: AssetLinkQuery }>(
    '/assets/:assetId/link',
    {
      schema: {
        summary: 'Make a link to an asset',
        description: 'The signed url needs no credential until it expires.',
        params: AssetParams,
        querystring: AssetLinkQuery,
        response: { 200: envelopeSchemaOf(AssetLink) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const { _id, warnings = [] } = await findAssetWithContent(store, accountId, request.params.assetId);
      addWarnings(reply, warnings);
      const expiresAt = linkExpiry(request.query, now());
      const granted = { grant: 'asset-content', id: _id } as const;
      const url = links.urlOf(`/assets/${_id}/content`, granted, accountId, expiresAt);
      return successEnvelope('Link made.', { url, expiresAt: expiresAt.toISOString() });
    },
  );

  app.delete<{ Params: AssetParams }>(
    '/assets/:assetId',
    {
      config: { idempotency: 'kept' },
      schema: {
        summary: 'Delete an asset',
        description: 'Removes its bytes too. The answer names in Cache-Tag what a CDN has to purge.',
        params: AssetParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      if (!(await removal.remove(accountId, request.params.assetId)))
        throw assetNotFoundError(request.params.assetId);
      return reply.code(204).header('cache-tag', `asset-${request.params.assetId}`).send();
    },
  );
}

/** @throws ApiError invalid_param for a distance without similarTo. */
function checkDistance({ similarTo, distance }: Pick<AssetListQuery, 'similarTo' | 'distance'>): void {
  if (distance === undefined || similarTo !== undefined) return;
  const message = 'distance goes with similarTo: name an asset, or leave it out.';
  throw invalidParamError('distance', message, { suggest: ['similarTo'] });
}

/**
 * One page of the assets that are similar to a given asset, nearest first. The given asset itself is left out.
 * @throws ApiError asset_not_found and invalid_state on similarTo; invalid_param on cursor.
 */
async function listSimilarAssets(
  store: AssetsStore,
  accountId: string,
  assetId: string,
  query: AssetListQuery,
  onLong: OnLongRead,
) {
  if (query.cursor !== undefined) {
    const message = 'cursor does not go with similarTo, which lists assets by page: leave it out.';
    throw invalidParamError('cursor', message, undefined, [{ param: 'cursor', remove: true }]);
  }
  const asset = await findAssetWithContent(store, accountId, assetId, 'similarTo');
  const { perceptualHash } = asset.image;
  if (perceptualHash === undefined) {
    const message = 'This asset was stored before likeness was measured: delete it and upload it again.';
    throw new ApiError('invalid_state', message, { param: 'similarTo' });
  }
  return store.findSimilar(asset, perceptualHash, query.distance ?? DEFAULT_HASH_DISTANCE, query, onLong);
}
