import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { envelopeSchemaOf, successEnvelope } from '../../../platform/http/envelope.ts';
import { ApiError } from '../../../platform/http/errors/errors.ts';
import type { CallGate } from '../gate/gate.ts';
import { ConsoleSession, SessionParams } from '../schema.ts';
import type { AccountsStore } from '../store.ts';

/** The routes by which an account's owner lists its console sessions, and ends one of them. */
export async function sessionListRoutes(
  app: FastifyInstance,
  { store, gate, now }: { store: AccountsStore; gate: CallGate; now: () => Date },
): Promise<void> {
  app.get(
    '/auth/sessions',
    {
      config: { access: 'session' },
      schema: {
        summary: 'List sessions',
        description: 'The console sessions of the account that are not over, newest first. Not paged.',
        response: { 200: envelopeSchemaOf(Type.Array(ConsoleSession)) },
      },
    },
    async (request) => {
      const { accountId, sessionId } = gate.requireCaller(request);
      const instant = now().toISOString();
      const sessions = (await store.findSessions(accountId))
        .filter(({ expiresAt, isLink }) => isLink !== true && expiresAt > instant)
        .sort((one, other) => (one._id < other._id ? 1 : -1))
        .map(({ _id: id, createdAt, expiresAt }) => ({
          id,
          createdAt,
          expiresAt,
          isCurrent: id === sessionId,
        }));
      return successEnvelope('Sessions listed.', sessions);
    },
  );

  app.delete<{ Params: SessionParams }>(
    '/auth/sessions/:sessionId',
    {
      config: { access: 'session', idempotency: 'kept' },
      schema: {
        summary: 'End a session',
        description: 'Its token is refused from the next call on.',
        params: SessionParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const { sessionId } = request.params;
      if (!(await store.removeSession(accountId, sessionId)))
        throw new ApiError('not_found', 'There is no such session: GET /api/v1/auth/sessions lists them.', {
          param: 'sessionId',
        });
      await gate.revoke(sessionId);
      return reply.code(204).send();
    },
  );
}
