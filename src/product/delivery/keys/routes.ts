import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { sendCreated } from '../../../platform/http/created.ts';
import { envelopeSchemaOf, successEnvelope } from '../../../platform/http/envelope.ts';
import type { CallGate } from '../../accounts/gate/gate.ts';
import { signingKeyNotFoundError } from '../errors.ts';
import { NewSigningKey, NewSigningKeyBody, SigningKey, SigningKeyParams } from '../schema.ts';
import type { SigningKeyCache } from './signers.ts';
import type { SigningKeyDocument, SigningKeysStore } from './store.ts';

/** The routes of signing keys: the account makes, lists and revokes them, and its own server signs with them. */
export async function signingKeyRoutes(
  app: FastifyInstance,
  {
    keys,
    signers,
    gate,
    now,
  }: { keys: SigningKeysStore; signers: SigningKeyCache; gate: CallGate; now: () => Date },
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
      return successEnvelope('Signing keys listed.', found.map(signingKeyOf));
    },
  );

  app.post<{ Body: NewSigningKeyBody }>(
    '/signing-keys',
    {
      // A key needs no name, and a call that gives none needs no body.
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
      const answer = { ...signingKeyOf(key), secret: key.secret };
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
      await signers.revoked(keyId);
      return reply.code(204).header('cache-tag', `key-${keyId}`).send();
    },
  );
}

/** A key as the API shows it: without its secret. */
function signingKeyOf({ _id: id, name, createdAt }: SigningKeyDocument): SigningKey {
  return { id, name, createdAt };
}
