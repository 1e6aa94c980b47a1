import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { envelopeSchemaOf, sendCreated, successEnvelope } from '../../platform/http/envelope.ts';
import { newId, randomText } from '../../platform/ids/ids.ts';
import {
  type DeclaredCollection,
  type DocumentCollection,
  type DocumentStore,
  sortBy,
} from '../../platform/stores/documents/port.ts';
import { insertInFreeSlot, SLOT_INDEX } from '../../platform/stores/documents/slots.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import { signingKeyNotFoundError, signingKeysContendedError, tooManySigningKeysError } from './errors.ts';
import {
  MAX_SIGNING_KEYS,
  NewSigningKey,
  NewSigningKeyBody,
  SigningKey,
  SigningKeyParams,
} from './schema.ts';

const SECRET_LENGTH = 40;

export interface SigningKeyDocument {
  _id: string;
  accountId: string;
  /** The slot of the key in its account, from 0. Slots limit the number of keys. */
  slot: number;
  name: string;
  /** The secret in plain text. It cannot be hashed, because it is needed to compute signatures. */
  secret: string;
  createdAt: string;
}

export const SIGNING_KEYS_COLLECTION: DeclaredCollection = {
  name: 'signingKeys',
  indexes: [SLOT_INDEX],
  onAccountDeletion: 'delete',
};

/** The signing keys of the accounts. A revoked key is deleted. */
export class SigningKeysStore {
  readonly #keys: DocumentCollection<SigningKeyDocument>;

  constructor(documents: DocumentStore) {
    this.#keys = documents.collection(SIGNING_KEYS_COLLECTION);
  }

  /**
   * Creates a signing key.
   * @throws ApiError resource_limit_exceeded when the account has the maximum number of keys.
   */
  async insert(accountId: string, name: string, now: Date): Promise<SigningKeyDocument> {
    const secret = `sgs_${randomText(SECRET_LENGTH)}`;
    const key = { _id: newId('sgk', now.getTime()), accountId, name, secret, createdAt: now.toISOString() };
    const slots = {
      limit: MAX_SIGNING_KEYS,
      tooMany: tooManySigningKeysError,
      tooContended: signingKeysContendedError,
    };
    return insertInFreeSlot(this.#keys, slots, key);
  }

  /** Lists the keys of an account, newest first. */
  list(accountId: string): Promise<SigningKeyDocument[]> {
    return this.#keys.find({ accountId }, { sort: sortBy('-_id') });
  }

  /** The key with this id, whichever account owns it, because an address contains no account. */
  findAnyKey(keyId: string): Promise<SigningKeyDocument | null> {
    return this.#keys.findOne({ _id: keyId });
  }

  /** Revokes a key for good; false when the account has no such key. */
  async remove(accountId: string, keyId: string): Promise<boolean> {
    return (await this.#keys.deleteOne({ _id: keyId, accountId })) === 1;
  }
}

interface SigningKeyRoutesOptions {
  keys: SigningKeysStore;
  /** Tells every process that a key was revoked. */
  signers: { announceRevocation(keyId: string): Promise<void> };
  gate: CallGate;
  now: () => Date;
}

/**
 * The routes of signing keys. An account creates, lists and revokes keys; its own server uses them to sign addresses.
 */
export async function signingKeyRoutes(
  app: FastifyInstance,
  { keys, signers, gate, now }: SigningKeyRoutesOptions,
): Promise<void> {
  app.get(
    '/signing-keys',
    {
      schema: {
        summary: 'List signing keys',
        description: 'Newest first, without their secrets. Not paged.',
        response: { 200: envelopeSchemaOf(Type.Array(SigningKey)) },
      },
    },
    async (request) => {
      const found = await keys.list(gate.requireCaller(request).accountId);
      return successEnvelope('Signing keys listed.', found.map(signingKeyDataOf));
    },
  );

  app.post<{ Body: NewSigningKeyBody }>(
    '/signing-keys',
    {
      // The body is optional, because a key needs no name.
      config: { idempotency: 'unkept', body: 'optional' },
      schema: {
        summary: 'Make a signing key',
        description:
          'Signs addresses of pictures for web pages, as /docs/guides/delivery shows. The answer contains the secret, only this once. At most 10 an account.',
        body: NewSigningKeyBody,
        response: { 201: envelopeSchemaOf(NewSigningKey) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const key = await keys.insert(accountId, request.body.name ?? '', now());
      const answer = { ...signingKeyDataOf(key), secret: key.secret };
      const message = 'Signing key made; its secret is shown only now.';
      return sendCreated(reply, '/signing-keys', message, answer);
    },
  );

  app.delete<{ Params: SigningKeyParams }>(
    '/signing-keys/:keyId',
    {
      config: { idempotency: 'kept' },
      schema: {
        summary: 'Revoke a signing key',
        description:
          'Addresses that it signed are answered 404 from then on. The answer names in Cache-Tag what a CDN has to purge.',
        params: SigningKeyParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { keyId } = request.params;
      if (!(await keys.remove(gate.requireCaller(request).accountId, keyId))) throw signingKeyNotFoundError();
      await signers.announceRevocation(keyId);
      return reply.code(204).header('cache-tag', `key-${keyId}`).send();
    },
  );
}

/** A key as the API shows it: without its secret. */
function signingKeyDataOf({ _id: id, name, createdAt }: SigningKeyDocument): SigningKey {
  return { id, name, createdAt };
}
