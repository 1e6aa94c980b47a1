import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { sendCreated } from '../../../platform/http/created.ts';
import { envelopeOf } from '../../../platform/http/envelope.ts';
import { newId, randomText } from '../../../platform/ids/ids.ts';
import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import type { Gate } from '../gate/gate.ts';
import { secretHash } from '../keys.ts';
import { type Account, SignedIn, SignInBody } from '../schema.ts';
import type { AccountsStore, SessionDocument } from '../store.ts';
import { createSignIn } from './sign-in.ts';

const SESSION_LIFE_MS = 12 * 60 * 60 * 1000;
const TOKEN_SECRET_CHARACTERS = 40;

interface SessionRoutesOptions {
  store: AccountsStore;
  gate: Gate;
  coordination: Coordination;
  /** Describes an account with its money, which the billing slice knows. */
  describe: (accountId: string) => Promise<Account>;
  now: () => Date;
}

/** The routes of console sessions: an e-mail and a password are exchanged for a bearer token of 12 hours. */
export async function sessionRoutes(
  app: FastifyInstance,
  { store, gate, coordination, describe, now }: SessionRoutesOptions,
): Promise<void> {
  const signIn = createSignIn(store, gate, coordination);

  app.post<{ Body: SignInBody }>(
    '/auth/sign-in',
    {
      config: { access: 'public', ignoresCredential: () => true, idempotency: 'unkept' },
      schema: {
        summary: 'Sign in to a console session',
        description: 'The answer contains the token of the session, only this once.',
        body: SignInBody,
        response: { 201: envelopeOf(SignedIn) },
      },
    },
    async (request, reply) => {
      const account = await signIn(request, reply);
      const { token, session } = await openSession(store, account._id, now());
      const answer = { token, expiresAt: session.expiresAt, account: await describe(account._id) };
      return sendCreated(reply, '/account', 'Signed in.', answer);
    },
  );

  app.post(
    '/auth/sign-out',
    {
      config: { access: 'session' },
      schema: {
        summary: 'End this session',
        description: 'Its token is refused from the next call on.',
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { accountId, sessionId } = gate.requireCaller(request);
      if (sessionId !== null) {
        await store.removeSession(accountId, sessionId);
        await gate.revoke(sessionId);
      }
      return reply.code(204).send();
    },
  );
}

async function openSession(
  store: AccountsStore,
  accountId: string,
  now: Date,
): Promise<{ token: string; session: SessionDocument }> {
  const token = `ses_${randomText(TOKEN_SECRET_CHARACTERS)}`;
  const session = {
    _id: newId('ses', now.getTime()),
    accountId,
    hash: secretHash(token),
    createdAt: now.toISOString(),
    expiresAt: new Date(now.getTime() + SESSION_LIFE_MS).toISOString(),
  };
  await store.insertSession(session);
  return { token, session };
}
