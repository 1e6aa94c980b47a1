import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../../platform/http/errors/errors.ts';

/** A kind of cookie: its name, the form of its tokens, and the header that programs send instead of it. */
interface CookieKind {
  name: string;
  token: RegExp;
  header: string;
}

const ACCOUNT_SESSION_COOKIE: CookieKind = {
  name: 'darkroom-session',
  token: /^ses_[0-9A-Za-z]+$/,
  header: 'Authorization: ApiKey <API_KEY>',
};
/**
 * A cookie with this prefix is accepted by browsers only over https, and cannot be set by other hosts of the domain.
 */
const SECURE_COOKIE_PREFIX = '__Host-';
const READ_METHODS = ['GET', 'HEAD', 'OPTIONS'];

/**
 * A console session as a cookie, which scripts cannot read. Browsers send cookies by themselves, so the cookie is
 * accepted only in requests from pages of this service. A write also needs a header that no form and no other page can
 * send.
 */
export class SessionCookie {
  readonly #publicUrl: () => string;
  readonly #kind: CookieKind;

  /**
   * @param publicUrl the address of the service. If it is https, browsers send the cookie over https only.
   * @param kind the kind of cookie; by default, that of an account's session.
   */
  constructor(publicUrl: () => string, kind = ACCOUNT_SESSION_COOKIE) {
    this.#publicUrl = publicUrl;
    this.#kind = kind;
  }

  /** The token in the cookie. Undefined if there is no cookie, or if a page of another origin made the request. */
  tokenOf(request: FastifyRequest): string | undefined {
    const { cookie, 'sec-fetch-site': site = 'none' } = request.headers;
    if (cookie === undefined || (site !== 'same-origin' && site !== 'none')) return undefined;
    const start = `${this.#cookieName(request)}=`;
    const sent = cookie.split('; ').find((pair) => pair.startsWith(start));
    const token = sent?.slice(start.length) ?? '';
    return this.#kind.token.test(token) ? token : undefined;
  }

  /**
   * Refuses a write that a page of another origin may have made.
   * @throws ApiError 403 forbidden
   */
  requireSameOrigin(request: FastifyRequest): void {
    if (READ_METHODS.includes(request.method) || this.isFromOwnPage(request)) return;
    const message = `A write with the cookie of a console session needs the header "X-Console: 1", and has to come from a page of this service: programs send "${this.#kind.header}".`;
    throw new ApiError('forbidden', message, { param: 'X-Console', details: { reason: 'foreign_page' } });
  }

  /** Whether a page of this service made the request. */
  isFromOwnPage(request: FastifyRequest): boolean {
    const { 'x-console': mark, 'sec-fetch-site': site, origin } = request.headers;
    if (mark !== '1') return false;
    // Browsers omit Sec-Fetch-Site for a page that was loaded over http from a host other than loopback.
    if (site !== undefined) return site === 'same-origin';
    if (origin === undefined) return true;
    const host = URL.parse(origin)?.host;
    return host !== undefined && (host === request.host || host === URL.parse(this.#publicUrl())?.host);
  }

  /**
   * Sets the cookie.
   * @param maxAgeSeconds the lifetime of the session.
   */
  set(request: FastifyRequest, reply: FastifyReply, token: string, maxAgeSeconds: number): void {
    reply.header('set-cookie', this.#cookieText(request, token, maxAgeSeconds));
  }

  /**
   * The header that removes the cookie from the browser after a sign-out. Responses to refused calls must not have it,
   * because it could remove the cookie of a newer session. The browser itself removes an expired cookie.
   */
  removalHeader(request: FastifyRequest): { 'set-cookie': string } {
    return { 'set-cookie': this.#cookieText(request, '', 0) };
  }

  #cookieText(request: FastifyRequest, token: string, maxAgeSeconds: number): string {
    const secure = this.#isSecure(request) ? '; Secure' : '';
    return `${this.#cookieName(request)}=${token}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`;
  }

  #cookieName(request: FastifyRequest): string {
    const { name } = this.#kind;
    return this.#isSecure(request) ? SECURE_COOKIE_PREFIX + name : name;
  }

  #isSecure(request: FastifyRequest): boolean {
    return request.protocol === 'https' || this.#publicUrl().startsWith('https:');
  }
}
