import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { envelopeSchemaOf, sendCreated, successEnvelope } from '../../../platform/http/envelope.ts';
import { ApiError } from '../../../platform/http/errors/errors.ts';
import type { Coordination } from '../../../platform/stores/coordination/port.ts';
import { accountSuspendedError, hasOnlyCookieCredential } from '../authentication.ts';
import type { AccountRoutesOptions } from '../routes.ts';
import {
  ConsoleSession,
  CookieSignInResult,
  SessionParams,
  SignInBody,
  SignInLinkBody,
  SignInResult,
} from '../schema.ts';
import type { SessionCookie } from './cookie.ts';
import { CONSOLE_SESSION_LIFE_MS, consumeSignInLink, createConsoleSession } from './sessions.ts';
import { createSignIn } from './sign-in.ts';

interface SessionRoutesOptions extends AccountRoutesOptions {
  cookie: SessionCookie;
  coordination: Coordination;
}

/** The config of the routes that sign in: they are public, and their responses contain a secret. */
const SIGN_IN_CONFIG = { access: 'public', ignoresCredential: () => true, idempotency: 'unkept' } as const;

/**
 * The routes of console sessions. An e-mail address and a password are exchanged for a session of 12 hours, as a bearer
 * token or, for the pages of this service, as a cookie.
 */
export async function sessionRoutes(
  app: FastifyInstance,
  { store, gate, cookie, coordination, describe, now }: SessionRoutesOptions,
): Promise<void> {
  const signIn = createSignIn(store, gate, coordination);

  app.post<{ Body: SignInBody }>(
    '/auth/sign-in',
    {
      config: SIGN_IN_CONFIG,
      schema: {
        summary: 'Sign in to a console session',
        description: 'The answer contains the token of the session, only this once.',
        body: SignInBody,
        response: { 201: envelopeSchemaOf(SignInResult) },
      },
    },
    async (request, reply) => {
      const account = await signIn(request, reply);
      const { token, session } = await createConsoleSession(store, account._id, now());
      const answer = { token, expiresAt: session.expiresAt, account: await describe(account._id) };
      return sendCreated(reply, '/account', 'Signed in.', answer);
    },
  );

  app.post<{ Body: SignInBody }>(
    '/auth/cookie',
    {
      config: SIGN_IN_CONFIG,
      schema: {
        summary: 'Sign in a browser',
        description:
          'For pages of this service, which send `X-Console: 1`: the session comes as a cookie that scripts cannot read.',
        body: SignInBody,
        response: { 201: envelopeSchemaOf(CookieSignInResult) },
      },
    },
    async (request, reply) => {
      cookie.requireSameOrigin(request);
      const account = await signIn(request, reply);
      return sendCookie(request, reply, account._id);
    },
  );

  app.post<{ Body: SignInLinkBody }>(
    '/auth/cookie/link',
    {
      config: SIGN_IN_CONFIG,
      schema: {
        summary: 'Sign in by a link',
        description:
          'Takes the token of a link that the service printed, which signs in once, within ten minutes. For pages of this service, which send `X-Console: 1`.',
        body: SignInLinkBody,
        response: { 201: envelopeSchemaOf(CookieSignInResult) },
      },
    },
    async (request, reply) => {
      cookie.requireSameOrigin(request);
      const strike = await gate.precountFailure(request);
      const accountId = await consumeSignInLink(store, request.body.token, now());
      if (accountId === null) throw strike.confirm(signInLinkError());
      await strike.giveBack();
      const standing = await store.findAccountStatus(accountId);
      if (standing === null) throw signInLinkError();
      if (standing.isSuspended) throw accountSuspendedError();
      return sendCookie(request, reply, accountId);
    },
  );

  app.post(
    '/auth/sign-out',
    {
      config: { access: 'session', servesSuspended: true },
      schema: {
        summary: 'End this session',
        description: 'Its token is refused from the next call on. A suspended account may sign out too.',
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { accountId, sessionId } = gate.requireCaller(request);
      if (sessionId !== null) {
        await store.removeSession(accountId, sessionId);
        await gate.revoke(sessionId);
      }
      if (hasOnlyCookieCredential(request)) reply.headers(cookie.removalHeader(request));
      return reply.code(204).send();
    },
  );

  async function sendCookie(request: FastifyRequest, reply: FastifyReply, accountId: string) {
    const { token, session } = await createConsoleSession(store, accountId, now());
    cookie.set(request, reply, token, CONSOLE_SESSION_LIFE_MS / 1000);
    const answer = { expiresAt: session.expiresAt, account: await describe(accountId) };
    return sendCreated(reply, '/account', 'Signed in.', answer);
  }
}

function signInLinkError(): ApiError {
  const message =
    'This link is over or was used: it signs in once, within ten minutes. The operator prints a new one by npm run admin -- console.';
  return new ApiError('unauthorized', message, { param: 'token' });
}

/** The routes by which an account's owner lists its console sessions, and ends one of them. */
export async function sessionListRoutes(
  app: FastifyInstance,
  { store, gate, now }: AccountRoutesOptions,
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
