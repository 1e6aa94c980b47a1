import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../platform/http/errors/errors.ts';
import type { Gate } from '../../product/accounts/gate/gate.ts';
import { SessionCookie } from '../../product/accounts/sign-in/cookie.ts';
import { type OperatorSessions, SESSION_LIFE_MS } from './sessions.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a route of the operator is the one that opens a session, and asks for no credential itself. */
    opensOperatorSession?: true;
  }
}

const COOKIE = {
  name: 'darkroom-operator',
  token: /^ops_[0-9A-Za-z]+$/,
  header: 'Authorization: Bearer <OPERATOR_TOKEN>',
};
const BEARER = /^bearer +(\S+)$/i;

interface AccessOptions {
  /** OPERATOR_TOKEN; '' if none is set. */
  token: string;
  sessions: OperatorSessions;
  /** Counts wrong credentials by address. */
  gate: Pick<Gate, 'strikeFirst'>;
  publicUrl: () => string;
}

/**
 * Who may use the operator's interface: whoever sends OPERATOR_TOKEN, or has the cookie of a session that the token or
 * a one-time link has opened. Without a token that is set, the interface does not exist for anybody else.
 */
export class OperatorAccess {
  readonly #options: AccessOptions;
  readonly #cookie: SessionCookie;

  constructor(options: AccessOptions) {
    this.#options = options;
    this.#cookie = new SessionCookie(options.publicUrl, COOKIE);
  }

  /** Puts the check before every route of `app`. No cache may keep an answer. */
  install(app: FastifyInstance): void {
    app.addHook('onRequest', async (request, reply) => {
      reply.header('cache-control', 'no-store');
      if (request.routeOptions.config.opensOperatorSession !== true) await this.#check(request);
      if (request.headers.authorization === undefined) this.#cookie.requireOwnPage(request);
    });
  }

  /**
   * Opens a session for a token or a one-time link, as a cookie.
   * @throws ApiError 401, or 404 where no token is set, for a wrong one; 429 after too many.
   */
  async signIn(
    request: FastifyRequest,
    reply: FastifyReply,
    given: { token: string } | { link: string },
  ): Promise<void> {
    const { sessions } = this.#options;
    await this.#verify(request, () =>
      'link' in given ? sessions.useLink(given.link) : Promise.resolve(this.#isToken(given.token)),
    );
    this.#cookie.set(request, reply, await sessions.begin(), SESSION_LIFE_MS / 1_000);
  }

  /** Ends the session of the request, wherever its cookie may have been copied to. */
  async signOut(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    await this.#options.sessions.end(this.#cookie.tokenOf(request) ?? '');
    reply.headers(this.#cookie.ending(request));
  }

  async #check(request: FastifyRequest): Promise<void> {
    const { authorization } = request.headers;
    if (authorization !== undefined) {
      const [, token = ''] = BEARER.exec(authorization.trim()) ?? [];
      return this.#verify(request, async () => this.#isToken(token));
    }
    const session = this.#cookie.tokenOf(request);
    if (session === undefined) throw this.#refusal(request, 'A credential of the operator is missing');
    // A session that is over is not an attack, but a guess would look the same.
    if (!(await this.#options.sessions.isOpen(session))) await this.#verify(request, async () => false);
  }

  /** Counts a credential as wrong before it is verified, so that guesses at the same time do not all pass. */
  async #verify(request: FastifyRequest, isRight: () => Promise<boolean>): Promise<void> {
    const strike = await this.#options.gate.strikeFirst(request);
    if (!(await isRight()))
      throw strike.failed(
        this.#refusal(request, 'This credential of the operator is not accepted, or is over'),
      );
    await strike.giveBack();
  }

  /** Hashes are compared, so that timing reveals neither the length nor the text of the token. */
  #isToken(given: string): boolean {
    const { token } = this.#options;
    const isEqual = timingSafeEqual(hashOf(given), hashOf(token));
    return isEqual && token !== '';
  }

  #refusal({ url }: FastifyRequest, problem: string): ApiError {
    const byLink = 'the one-time link of "npm run admin -- console --operator"';
    if (this.#options.token === '')
      return new ApiError(
        'not_found',
        `There is nothing at ${url.split('?')[0]}: the operator's interface needs OPERATOR_TOKEN, or ${byLink}.`,
      );
    const message = `${problem}: send "Authorization: Bearer" with OPERATOR_TOKEN, or open ${byLink}.`;
    const headers = { 'www-authenticate': 'Bearer realm="operator"' };
    return new ApiError('unauthorized', message, { param: 'Authorization', headers });
  }
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
