import type { FastifyRequest } from 'fastify';
import type { LinkSigner } from '../../../platform/http/signatures.ts';
import type { SignedUploadQuery } from '../schema.ts';

/** The right that a link grants: to read the content of an asset, or to upload it. */
type Grant = 'asset-content' | 'asset-put';

/** Signed links to the content of an asset. They need no credential, because the account is a signed part of them. */
export class AssetLinks {
  readonly #signatures: LinkSigner;
  readonly #publicUrl: () => string;
  readonly #now: () => Date;

  constructor(signatures: LinkSigner, publicUrl: () => string, now: () => Date) {
    this.#signatures = signatures;
    this.#publicUrl = publicUrl;
    this.#now = now;
  }

  sign(grant: Grant, accountId: string, assetId: string, expiresAt: Date): string {
    const query = signedLinkQuery(this.#signatures, { grant, id: assetId }, accountId, expiresAt);
    return `${this.#publicUrl()}/api/v1/assets/${assetId}/content?${query}`;
  }

  /**
   * The account for which a link was made.
   * @throws ApiError 403 forbidden with details.reason link_expired or link_invalid.
   */
  ownerOf(grant: Grant, assetId: string, query: SignedUploadQuery): string {
    return verifySignedLink(this.#signatures, { grant, id: assetId }, query, this.#now());
  }
}

/** The target of a link: something of an account, and the right that the link grants. */
interface Linked {
  grant: string;
  id: string;
}

/** Whether a request uses a signed link. */
export function isSignedLinkRequest({ query }: FastifyRequest): boolean {
  const { signature, expires } = query as SignedUploadQuery;
  return signature !== undefined || expires !== undefined;
}

/** The query of a link. It names the account for which the link is made. */
export function signedLinkQuery(
  signatures: LinkSigner,
  { grant, id }: Linked,
  accountId: string,
  expiresAt: Date,
): string {
  return `owner=${accountId}&${signatures.sign(grant, `${accountId}/${id}`, expiresAt)}`;
}

/**
 * The account for which a link was made.
 * @throws ApiError 403 forbidden with details.reason link_expired or link_invalid.
 */
export function verifySignedLink(
  signatures: LinkSigner,
  { grant, id }: Linked,
  query: { owner?: string; expires?: string; signature?: string },
  now: Date,
): string {
  const { owner = '' } = query;
  signatures.verify(grant, `${owner}/${id}`, query, now);
  return owner;
}
