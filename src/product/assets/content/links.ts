import type { FastifyRequest } from 'fastify';
import type { LinkSigner } from '../../../platform/http/signatures.ts';
import type { SignedUploadQuery } from '../schema.ts';

/** The right that a link grants on one resource of an account, such as to read the content of an asset. */
interface LinkGrant {
  grant: 'asset-content' | 'asset-put' | 'upload-ticket' | 'job-results';
  id: string;
}

/** Makes and checks signed links. A link needs no credential, because it contains the account and is signed. */
export class AccountLinks {
  readonly #signatures: LinkSigner;
  readonly #publicUrl: () => string;
  readonly #now: () => Date;

  constructor(signatures: LinkSigner, publicUrl: () => string, now: () => Date) {
    this.#signatures = signatures;
    this.#publicUrl = publicUrl;
    this.#now = now;
  }

  /**
   * The address of a link.
   * @param path the path below /api/v1, which may have a query.
   */
  urlOf(path: string, { grant, id }: LinkGrant, accountId: string, expiresAt: Date): string {
    const query = `owner=${accountId}&${this.#signatures.sign(grant, `${accountId}/${id}`, expiresAt)}`;
    return `${this.#publicUrl()}/api/v1${path}${path.includes('?') ? '&' : '?'}${query}`;
  }

  /**
   * The account for which a link was made.
   * @throws ApiError 403 forbidden with details.reason link_expired or link_invalid.
   */
  requireOwner(
    { grant, id }: LinkGrant,
    query: { owner?: string; expires?: string; signature?: string },
  ): string {
    const { owner = '' } = query;
    this.#signatures.verify(grant, `${owner}/${id}`, query, this.#now());
    return owner;
  }
}

export function isSignedLinkRequest({ query }: FastifyRequest): boolean {
  const { signature, expires } = query as SignedUploadQuery;
  return signature !== undefined || expires !== undefined;
}
