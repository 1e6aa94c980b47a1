import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { sendCreated } from '../../platform/http/created.ts';
import { envelopeSchemaOf, successEnvelope } from '../../platform/http/envelope.ts';
import { createRowWriter, streamList } from '../../platform/http/paging/streamed-list.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import type { AssetCollections } from './collections.ts';
import { collectionNotFoundError } from './errors.ts';
import { checkCollectionName } from './rules.ts';
import { AssetCollection, AssetCollectionParams, NewAssetCollectionBody } from './schema.ts';

const writeCollection = createRowWriter(AssetCollection);

/** The routes of collections, which group the assets of an account by name. */
export async function collectionRoutes(
  app: FastifyInstance,
  { gate, collections }: { gate: CallGate; collections: AssetCollections },
): Promise<void> {
  app.get(
    '/collections',
    {
      schema: {
        summary: 'List collections',
        description: 'By name. Not paged.',
        response: { 200: envelopeSchemaOf(Type.Array(AssetCollection)) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      return streamList(reply, 'Collections listed.', collections.list(accountId), writeCollection);
    },
  );

  app.post<{ Body: NewAssetCollectionBody }>(
    '/collections',
    {
      config: { idempotency: 'kept' },
      schema: {
        summary: 'Create a collection',
        description: 'A name that exists is answered with 200.',
        body: NewAssetCollectionBody,
        response: { 200: envelopeSchemaOf(AssetCollection), 201: envelopeSchemaOf(AssetCollection) },
      },
    },
    async (request, reply) => {
      const name = checkCollectionName(request.body.name, 'name');
      const { collection, isNew } = await collections.create(gate.requireCaller(request).accountId, name);
      if (!isNew) return successEnvelope('The collection exists already.', collection);
      return sendCreated(
        reply,
        `/collections/${encodeURIComponent(name)}`,
        'Collection created.',
        collection,
      );
    },
  );

  app.delete<{ Params: AssetCollectionParams }>(
    '/collections/:name',
    {
      config: { idempotency: 'kept' },
      schema: {
        summary: 'Delete a collection',
        description: 'Its assets stay, without a collection.',
        params: AssetCollectionParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const removed = await collections.remove(gate.requireCaller(request).accountId, request.params.name);
      if (!removed) throw collectionNotFoundError();
      return reply.code(204).send();
    },
  );
}
