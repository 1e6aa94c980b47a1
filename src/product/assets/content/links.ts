import type { Signatures } from '../../../platform/http/signatures.ts';
import type { PutQuery } from '../schema.ts';

/** The right that a link grants: to read the content of an asset, or to put it. */
type Grant = 'asset-content' | 'asset-put';

/** Signed links to the content of an asset, which need no credential: the account is a signed part of each. */
export interface Links {
  sign(grant: Grant, accountId: string, assetId: string, expiresAt: Date): string;
  /**
   * The account that a link was made for.
   * @throws ApiError 403 forbidden with details.reason link_expired or link_invalid.
   */
  ownerOf(grant: Grant, assetId: string, query: PutQuery): string;
}

export function createLinks(signatures: Signatures, publicUrl: () => string, now: () => Date): Links {
  return {
    sign(grant, accountId, assetId, expiresAt) {
      const signed = signatures.sign(grant, subject(accountId, assetId), expiresAt);
      return `${publicUrl()}/api/v1/assets/${assetId}/content?owner=${accountId}&${signed}`;
    },

    ownerOf(grant, assetId, query) {
      const { owner = '' } = query;
      signatures.verify(grant, subject(owner, assetId), query, now());
      return owner;
    },
  };
}

function subject(accountId: string, assetId: string): string {
  return `${accountId}/${assetId}`;
}
