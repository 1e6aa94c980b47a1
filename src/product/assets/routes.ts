import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { envelopeOf, pageOf, success } from '../../platform/http/envelope.ts';
import { invalidParam } from '../../platform/http/errors/errors.ts';
import type { Gate } from '../accounts/gate/gate.ts';
import { assetOf } from './asset.ts';
import type { Links } from './content/links.ts';
import { findAsset, findDone } from './content/reading.ts';
import { assetNotFound } from './errors.ts';
import type { Removal } from './removal.ts';
import { linkEnd } from './rules.ts';
import { Asset, AssetListQuery, AssetParams, Link, LinkQuery, ListedAsset } from './schema.ts';
import { similarAssets, similarOf } from './similar.ts';
import type { AssetsStore } from './store.ts';

interface AssetRoutesOptions {
  gate: Gate;
  store: AssetsStore;
  removal: Removal;
  links: Links;
  now: () => Date;
}

/** The routes of stored assets: reading, listing, linking and deleting. For their upload see uploads/routes.ts. */
export async function assetRoutes(app: FastifyInstance, options: AssetRoutesOptions): Promise<void> {
  const { gate, store, removal, links, now } = options;

  app.get<{ Querystring: AssetListQuery }>(
    '/assets',
    {
      config: { recheck: (_request, { query }) => checkDistance(query) },
      schema: {
        summary: 'List assets',
        description: 'Newest first; with similarTo, the nearest first, by page number alone.',
        querystring: AssetListQuery,
        response: { 200: pageOf(ListedAsset) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const { query } = request;
      if (query.similarTo !== undefined) {
        const { rows, meta } = await similarAssets(store, accountId, query.similarTo, query);
        return success('Similar assets listed.', rows.map(similarOf), meta);
      }
      checkDistance(query);
      const { rows, meta } = await store.list(accountId, query);
      return success('Assets listed.', rows.map(assetOf), meta);
    },
  );

  app.get<{ Params: AssetParams }>(
    '/assets/:assetId',
    {
      schema: {
        summary: 'Read an asset',
        description: 'Its facts and labels, without its bytes.',
        params: AssetParams,
        response: { 200: envelopeOf(Asset) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      return success('Asset read.', assetOf(await findAsset(store, accountId, request.params.assetId)));
    },
  );

  app.get<{ Params: AssetParams; Querystring: LinkQuery }>(
    '/assets/:assetId/link',
    {
      schema: {
        summary: 'Make a link to an asset',
        description: 'The signed url needs no credential until it expires.',
        params: AssetParams,
        querystring: LinkQuery,
        response: { 200: envelopeOf(Link) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const { _id } = await findDone(store, accountId, request.params.assetId);
      const expiresAt = linkEnd(request.query, now());
      const url = links.sign('asset-content', accountId, _id, expiresAt);
      return success('Link made.', { url, expiresAt: expiresAt.toISOString() });
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
        throw assetNotFound(request.params.assetId);
      return reply.code(204).header('cache-tag', `asset-${request.params.assetId}`).send();
    },
  );
}

/** @throws ApiError invalid_param on a distance from nothing. */
function checkDistance({ similarTo, distance }: Pick<AssetListQuery, 'similarTo' | 'distance'>): void {
  if (distance === undefined || similarTo !== undefined) return;
  throw invalidParam('distance', 'distance goes with similarTo: name an asset, or leave it out.');
}
