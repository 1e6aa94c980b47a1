import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { envelopeOf, pageOf, success } from '../../platform/http/envelope.ts';
import type { Gate } from '../accounts/gate/gate.ts';
import { assetOf } from './asset.ts';
import type { Links } from './content/links.ts';
import { findAsset, findDone } from './content/reading.ts';
import { assetNotFound } from './errors.ts';
import type { Removal } from './removal.ts';
import { Asset, AssetListQuery, AssetParams, Link, LinkQuery } from './schema.ts';
import type { AssetsStore } from './store.ts';

interface AssetRoutesOptions {
  gate: Gate;
  store: AssetsStore;
  removal: Removal;
  links: Links;
  now: () => Date;
}

const LINK_LIFE_SECONDS = 300;

/** The routes of stored assets: reading, listing, linking and deleting. For their upload see uploads/routes.ts. */
export async function assetRoutes(app: FastifyInstance, options: AssetRoutesOptions): Promise<void> {
  const { gate, store, removal, links, now } = options;

  app.get<{ Querystring: AssetListQuery }>(
    '/assets',
    {
      schema: {
        summary: 'List assets',
        description: 'Newest first.',
        querystring: AssetListQuery,
        response: { 200: pageOf(Asset) },
      },
    },
    async (request) => {
      const { rows, meta } = await store.list(gate.requireCaller(request).accountId, request.query);
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
        summary: 'Make a link to the content of an asset',
        description: 'The signed url needs no credential until it expires.',
        params: AssetParams,
        querystring: LinkQuery,
        response: { 200: envelopeOf(Link) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const { _id } = await findDone(store, accountId, request.params.assetId);
      const { expiresIn = LINK_LIFE_SECONDS } = request.query;
      const expiresAt = new Date(now().getTime() + expiresIn * 1000);
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
        description: 'Removes its bytes too.',
        params: AssetParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      if (!(await removal.remove(accountId, request.params.assetId)))
        throw assetNotFound(request.params.assetId);
      return reply.code(204).send();
    },
  );
}
