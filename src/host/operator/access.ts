import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../platform/http/errors/errors.ts';
import { isSecret } from '../../platform/http/signatures.ts';
import { randomText } from '../../platform/ids/ids.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import { HOUR_MS, MINUTE_MS } from '../../platform/values/units.ts';
import type { CallGate } from '../../product/accounts/gate/gate.ts';
import { SessionCookie } from '../../product/accounts/sign-in/cookie.ts';

const OPERATOR_LINK_LIFE_MS = 10 * MINUTE_MS;
const OPERATOR_SESSION_LIFE_MS = 12 * HOUR_MS;
const OPERATOR_SECRET_CHARACTERS = 40;

/**
 * The operator's sessions and one-time links. Coordination keeps a hash of each until it expires, so that every process
 * of every host knows them. They are not stored as documents.
 */
export class OperatorSessions {
  readonly #coordination: Coordination;

  constructor(coordination: Coordination) {
    this.#coordination = coordination;
  }

  /** Makes a secret that opens one session within ten minutes. */
  async createLink(): Promise<string> {
    const link = `opl_${randomText(OPERATOR_SECRET_CHARACTERS)}`;
    await this.#coordination.setFlag(flagKeyOf('link', link), OPERATOR_LINK_LIFE_MS);
    return link;
  }

  /**
   * Uses up a link.
   * @returns whether the link was valid and unused.
   */
  async useLink(link: string): Promise<boolean> {
    const { flagged } = await this.#coordination.admit({ flag: flagKeyOf('link', link) });
    if (!flagged) return false;
    // Two concurrent uses may both find the flag unused, but only one of them gets the count 1.
    const { count } = await this.#coordination.addStrike(flagKeyOf('link-use', link), OPERATOR_LINK_LIFE_MS);
    return count === 1;
  }

  /** Begins a session, and returns its secret. */
  async begin(): Promise<string> {
    const session = `ops_${randomText(OPERATOR_SECRET_CHARACTERS)}`;
    await this.#coordination.setFlag(flagKeyOf('session', session), OPERATOR_SESSION_LIFE_MS);
    return session;
  }

  async isOpen(session: string): Promise<boolean> {
    const { flagged } = await this.#coordination.admit({ flag: flagKeyOf('session', session) });
    return flagged;
  }

  async end(session: string): Promise<void> {
    if (await this.isOpen(session)) await this.#coordination.setFlag(flagKeyOf('session', session), 1);
  }
}

function flagKeyOf(kind: string, secret: string): string {
  return `operator/${kind}/${hash('sha256', secret, 'base64url')}`;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Set for a route that opens an operator's session. The access check lets its calls pass, because the route checks
     * the credential itself.
     */
    opensOperatorSession?: true;
  }
}

const SESSION_COOKIE = {
  name: 'darkroom-operator',
  token: /^ops_[0-9A-Za-z]+$/,
  header: 'Authorization: Bearer <OPERATOR_TOKEN>',
};
const BEARER_CREDENTIAL_PATTERN = /^bearer +(\S+)$/i;

interface OperatorAccessOptions {
  /** OPERATOR_TOKEN; '' if none is set. */
  token: string;
  sessions: OperatorSessions;
  /** Counts wrong credentials per client address. */
  gate: Pick<CallGate, 'precountFailure'>;
  publicUrl: () => string;
}

/**
 * Decides who may use the operator's interface: a caller with OPERATOR_TOKEN, or with the cookie of a session that the
 * token or a one-time link has opened. If no token is set, only a one-time link opens the interface, and every other
 * call gets 404.
 */
export class OperatorAccess {
  readonly #options: OperatorAccessOptions;
  readonly #cookie: SessionCookie;

  constructor(options: OperatorAccessOptions) {
    this.#options = options;
    this.#cookie = new SessionCookie(options.publicUrl, SESSION_COOKIE);
  }

  /** Puts the access check before every route of `app`. Responses must not be cached. */
  install(app: FastifyInstance): void {
    app.addHook('onRequest', async (request, reply) => {
      reply.header('cache-control', 'no-store');
      if (request.routeOptions.config.opensOperatorSession !== true) await this.#checkAccess(request);
      if (request.headers.authorization === undefined) this.#cookie.requireSameOrigin(request);
    });
  }

  /**
   * Opens a session for a token or a one-time link, as a cookie.
   * @throws ApiError 401 for a wrong credential, or 404 if no token is set; 429 after too many wrong ones.
   */
  async signIn(
    request: FastifyRequest,
    reply: FastifyReply,
    given: { token: string } | { link: string },
  ): Promise<void> {
    const { sessions } = this.#options;
    await this.#verifyCredential(request, () =>
      'link' in given ? sessions.useLink(given.link) : Promise.resolve(this.#matchesToken(given.token)),
    );
    this.#cookie.set(request, reply, await sessions.begin(), OPERATOR_SESSION_LIFE_MS / 1_000);
  }

  /** Ends the session of the request, also for copies of its cookie. */
  async signOut(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    await this.#options.sessions.end(this.#cookie.tokenOf(request) ?? '');
    reply.headers(this.#cookie.removalHeader(request));
  }

  async #checkAccess(request: FastifyRequest): Promise<void> {
    const { authorization } = request.headers;
    if (authorization !== undefined) {
      const [, token = ''] = BEARER_CREDENTIAL_PATTERN.exec(authorization.trim()) ?? [];
      return this.#verifyCredential(request, async () => this.#matchesToken(token));
    }
    const session = this.#cookie.tokenOf(request);
    if (session === undefined) throw this.#accessError(request, 'A credential of the operator is missing');
    // An expired session counts as a wrong credential, because a guessed one would look the same.
    if (!(await this.#options.sessions.isOpen(session)))
      await this.#verifyCredential(request, async () => false);
  }

  /** Counts a credential as wrong before it is verified, so that concurrent guesses do not all pass the limit. */
  async #verifyCredential(request: FastifyRequest, isRight: () => Promise<boolean>): Promise<void> {
    const strike = await this.#options.gate.precountFailure(request);
    if (!(await isRight()))
      throw strike.confirm(
        this.#accessError(request, 'This credential of the operator is not accepted, or is over'),
      );
    await strike.giveBack();
  }

  #matchesToken(given: string): boolean {
    const { token } = this.#options;
    return token !== '' && isSecret(given, token);
  }

  #accessError({ url }: FastifyRequest, problem: string): ApiError {
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
