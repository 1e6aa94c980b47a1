import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { sendCreated } from '../../platform/http/created.ts';
import { envelopeOf, success } from '../../platform/http/envelope.ts';
import { rowWriter, sendList } from '../../platform/http/paging/streamed-list.ts';
import type { Gate } from '../accounts/gate/gate.ts';
import type { AssetCollections } from './collections.ts';
import { collectionNotFound } from './errors.ts';
import { collectionName } from './rules.ts';
import { AssetCollection, CollectionParams, NewCollection } from './schema.ts';

const writeCollection = rowWriter(AssetCollection);

/** The routes of collections, which group the assets of an account by name. */
export async function collectionRoutes(
  app: FastifyInstance,
  { gate, collections }: { gate: Gate; collections: AssetCollections },
): Promise<void> {
  app.get(
    '/collections',
    {
      schema: {
        summary: 'List collections',
        description: 'By name. Not paged.',
        response: { 200: envelopeOf(Type.Array(AssetCollection)) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      return sendList(reply, 'Collections listed.', collections.list(accountId), writeCollection);
    },
  );

  app.post<{ Body: NewCollection }>(
    '/collections',
    {
      config: { idempotency: 'kept' },
      schema: {
        summary: 'Create a collection',
        description: 'A name that exists is answered with 200.',
        body: NewCollection,
        response: { 200: envelopeOf(AssetCollection), 201: envelopeOf(AssetCollection) },
      },
    },
    async (request, reply) => {
      const name = collectionName(request.body.name, 'name');
      const { collection, isNew } = await collections.create(gate.requireCaller(request).accountId, name);
      if (!isNew) return success('The collection exists already.', collection);
      return sendCreated(
        reply,
        `/collections/${encodeURIComponent(name)}`,
        'Collection created.',
        collection,
      );
    },
  );

  app.delete<{ Params: CollectionParams }>(
    '/collections/:name',
    {
      config: { idempotency: 'kept' },
      schema: {
        summary: 'Delete a collection',
        description: 'Its assets stay, without a collection.',
        params: CollectionParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const removed = await collections.remove(gate.requireCaller(request).accountId, request.params.name);
      if (!removed) throw collectionNotFound();
      return reply.code(204).send();
    },
  );
}
