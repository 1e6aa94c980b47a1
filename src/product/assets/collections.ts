import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { envelopeSchemaOf, sendCreated, successEnvelope } from '../../platform/http/envelope.ts';
import type { CallWarning } from '../../platform/http/hooks/warnings.ts';
import { streamList } from '../../platform/http/long-answers.ts';
import { randomText } from '../../platform/ids/ids.ts';
import { likelyNames } from '../../platform/ids/nearest.ts';
import {
  type DeclaredCollection,
  type DocumentCollection,
  type DocumentStore,
  sortBy,
} from '../../platform/stores/documents/port.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import { collectionNotFoundError, tooManyCollectionsError } from './errors.ts';
import { checkCollectionName } from './rules.ts';
import { AssetCollection, AssetCollectionParams, NewAssetCollectionBody } from './schema.ts';
import type { AssetsStore } from './store.ts';

interface AssetCollectionDocument {
  _id: string;
  accountId: string;
  name: string;
  updatedAt: string;
}

/** The database collection that stores the asset collections of all accounts. */
export const ASSET_COLLECTIONS_COLLECTION: DeclaredCollection = {
  name: 'assetCollections',
  indexes: [{ name: 'name', fields: sortBy('accountId', 'name'), unique: true }],
  onAccountDeletion: 'delete',
};

const ROWS_PER_READ = 100;
/**
 * The most collections that an account may have when it creates another one. The limit does not apply to collections
 * that uploads and jobs create, because the number of assets limits those.
 */
const MAX_COLLECTIONS = 10_000;

/** The collections of the accounts. A collection is a name by which assets are grouped. */
export class AssetCollections {
  readonly #collections: DocumentCollection<AssetCollectionDocument>;
  readonly #assets: AssetsStore;
  readonly #now: () => Date;

  constructor(documents: DocumentStore, assets: AssetsStore, now: () => Date) {
    this.#collections = documents.collection(ASSET_COLLECTIONS_COLLECTION);
    this.#assets = assets;
    this.#now = now;
  }

  /** All collections of an account by name, each with its number of assets. */
  async *list(accountId: string): AsyncGenerator<AssetCollection> {
    let after = '';
    for (;;) {
      const options = { sort: sortBy('name'), limit: ROWS_PER_READ };
      const rows = await this.#collections.find({ accountId, name: { $gt: after } }, options);
      for (const row of rows) yield this.#withCount(row);
      const last = rows.at(-1);
      if (last === undefined || rows.length < ROWS_PER_READ) return;
      after = last.name;
    }
  }

  /** Warnings about a name by which assets are listed: there may be no such collection, but one with a similar name. */
  async warningsAbout(accountId: string, name: string): Promise<CallWarning[]> {
    if ((await this.#collections.findOne({ accountId, name })) !== null) return [];
    const rows = await this.#collections.find({ accountId }, { sort: sortBy('name'), limit: ROWS_PER_READ });
    const [meant] = likelyNames(
      name,
      rows.map((row) => row.name),
    );
    return [
      { code: 'unknown_collection', name },
      ...(meant === undefined ? [] : [{ code: 'did_you_mean' as const, name: 'collection', value: meant }]),
    ];
  }

  /**
   * Creates a collection, or returns the existing one of that name.
   * @throws ApiError resource_limit_exceeded
   */
  async create(accountId: string, name: string): Promise<{ collection: AssetCollection; isNew: boolean }> {
    if ((await this.#collections.count({ accountId })) >= MAX_COLLECTIONS) {
      const known = await this.#collections.findOne({ accountId, name });
      if (known === null) throw tooManyCollectionsError(MAX_COLLECTIONS);
      return { collection: await this.#withCount(known), isNew: false };
    }
    const row = { _id: randomText(24), accountId, name, updatedAt: this.#now().toISOString() };
    const { duplicates } = await this.#collections.insertMany([row]);
    const isNew = duplicates.length === 0;
    const existing = isNew ? null : await this.#collections.findOne({ accountId, name });
    return { collection: await this.#withCount(existing ?? row), isNew };
  }

  /** Records that a collection received an asset, and creates the collection if it does not exist. */
  async touch(accountId: string, name: string): Promise<void> {
    const update = { $max: { updatedAt: this.#now().toISOString() }, $setOnInsert: { _id: randomText(24) } };
    await this.#collections.updateOne({ accountId, name }, update, { upsert: true });
  }

  /**
   * Deletes a collection; false when there is no such collection. Its assets remain, without a collection. They are
   * released before the deletion, so that the caller can repeat the call after a crash, and once more after it, because
   * a concurrent upload may have added an asset.
   */
  async remove(accountId: string, name: string): Promise<boolean> {
    await this.#assets.clearCollection(accountId, name);
    const deleted = await this.#collections.deleteOne({ accountId, name });
    await this.#assets.clearCollection(accountId, name);
    return deleted === 1;
  }

  async #withCount({ accountId, name, updatedAt }: AssetCollectionDocument): Promise<AssetCollection> {
    return { name, assets: await this.#assets.countInCollection(accountId, name), updatedAt };
  }
}

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
      return streamList(reply, 'Collections listed.', collections.list(accountId));
    },
  );

  app.post<{ Body: NewAssetCollectionBody }>(
    '/collections',
    {
      config: { idempotency: 'kept', needsFreeSpace: true },
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
      const path = `/collections/${encodeURIComponent(name)}`;
      return sendCreated(reply, path, 'Collection created.', collection);
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
      const wasRemoved = await collections.remove(gate.requireCaller(request).accountId, request.params.name);
      if (!wasRemoved) throw collectionNotFoundError();
      return reply.code(204).send();
    },
  );
}
