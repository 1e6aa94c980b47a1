import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { envelopeSchemaOf, sendCreated, successEnvelope } from '../../platform/http/envelope.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import { createApiKey } from './accounts.ts';
import type { CallGate } from './gate/gate.ts';
import { Account, ApiKey, ApiKeyParams, NewApiKey, NewApiKeyBody } from './schema.ts';
import type { AccountsStore, ApiKeyDocument } from './store.ts';

export interface AccountRoutesOptions {
  store: AccountsStore;
  gate: CallGate;
  /**
   * Describes an account as the API shows it. Billing supplies this function, because the description includes credits.
   */
  describe: (accountId: string) => Promise<Account>;
  now: () => Date;
}

/** The routes of the account to which the credential belongs. */
export async function accountRoutes(
  app: FastifyInstance,
  { gate, describe }: AccountRoutesOptions,
): Promise<void> {
  app.get(
    '/account',
    {
      schema: {
        summary: 'Read your account',
        description: 'The account of the credential, with its plan.',
        response: { 200: envelopeSchemaOf(Account) },
      },
    },
    async (request) =>
      successEnvelope('Account read.', await describe(gate.requireCaller(request).accountId)),
  );
}

/** The most API keys of an account that are not revoked. Concurrent calls may exceed it by a few. */
const MAX_API_KEYS = 1_000;

/** The routes of API keys. A console session issues, lists and revokes keys; a key may only revoke itself. */
export async function keyRoutes(
  app: FastifyInstance,
  { store, gate, now }: AccountRoutesOptions,
): Promise<void> {
  app.delete(
    '/api-keys/self',
    {
      config: { idempotency: 'kept' },
      schema: {
        summary: 'Revoke the calling key',
        description: 'It is refused from the next call on.',
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { accountId, apiKeyId } = gate.requireCaller(request);
      if (apiKeyId === null) throw noKeyToRevokeError();
      await store.revokeKey(accountId, apiKeyId, now());
      await gate.revoke(apiKeyId);
      return reply.code(204).send();
    },
  );

  app.get(
    '/api-keys',
    {
      config: { access: 'session' },
      schema: {
        summary: 'List API keys',
        description: 'Those that are not revoked, without the key itself.',
        response: { 200: envelopeSchemaOf(Type.Array(ApiKey)) },
      },
    },
    async (request) => {
      const keys = await store.findLiveKeys(gate.requireCaller(request).accountId);
      return successEnvelope('API keys listed.', keys.map(apiKeyDataOf));
    },
  );

  app.post<{ Body: NewApiKeyBody }>(
    '/api-keys',
    {
      // The body is optional, because a key needs no name.
      config: { access: 'session', idempotency: 'unkept', body: 'optional', needsFreeSpace: true },
      schema: {
        summary: 'Issue an API key',
        description: `The answer contains the key, only this once. At most ${MAX_API_KEYS} an account.`,
        body: NewApiKeyBody,
        response: { 201: envelopeSchemaOf(NewApiKey) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      if ((await store.countLiveKeys(accountId)) >= MAX_API_KEYS) throw tooManyKeysError();
      const { apiKey, key } = await createApiKey(store, accountId, request.body.name ?? '', now());
      const answer = { ...apiKeyDataOf(apiKey), key };
      return sendCreated(reply, `/api-keys/${answer.id}`, 'API key issued; it is shown only now.', answer);
    },
  );

  app.delete<{ Params: ApiKeyParams }>(
    '/api-keys/:keyId',
    {
      config: { access: 'session', idempotency: 'kept' },
      schema: {
        summary: 'Revoke an API key',
        description: 'It is refused from the next call on.',
        params: ApiKeyParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { keyId } = request.params;
      const wasRevoked = await store.revokeKey(gate.requireCaller(request).accountId, keyId, now());
      if (!wasRevoked)
        throw new ApiError('not_found', 'There is no such API key: GET /api/v1/api-keys lists them.', {
          param: 'keyId',
        });
      await gate.revoke(keyId);
      return reply.code(204).send();
    },
  );
}

/** A key as the API shows it: without its secret. */
function apiKeyDataOf(key: ApiKeyDocument): ApiKey {
  const { _id: id, name, hint, createdAt, lastUsedAt } = key;
  return { id, name, hint, createdAt, ...withoutAbsentFields({ lastUsedAt }) };
}

function tooManyKeysError(): ApiError {
  const message = `An account has at most ${MAX_API_KEYS} API keys: revoke one that is not needed.`;
  return new ApiError('resource_limit_exceeded', message, { details: { limit: MAX_API_KEYS } });
}

function noKeyToRevokeError(): ApiError {
  const message = 'A console session does not use a key: revoke a key by DELETE /api/v1/api-keys/{keyId}.';
  return new ApiError('invalid_state', message);
}
