import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { DeclaredCollection, DocumentStore } from '../stores/documents/port.ts';
import { ApiError } from './errors/errors.ts';

/** The collection and the id of the document with the signing key. */
export const LINK_SECRET_LOCATION = { collection: 'serviceSecrets', id: 'links' } as const;

export const SERVICE_SECRETS_COLLECTION: DeclaredCollection = {
  name: LINK_SECRET_LOCATION.collection,
  indexes: [],
  onAccountDeletion: 'keep',
};

/** Signs links, which can then be used without a credential until they expire. */
export class LinkSigner {
  readonly #key: Buffer;

  /** @param secret the stored key, in base64url. */
  constructor(secret: string) {
    this.#key = Buffer.from(secret, 'base64url');
  }

  /** Opens the service's signing key. All processes of all hosts share it; the first one creates it. */
  static async open(documents: DocumentStore): Promise<LinkSigner> {
    const secrets = documents.collection<{ _id: string; value: string }>(SERVICE_SECRETS_COLLECTION);
    const fresh = randomBytes(32).toString('base64url');
    const update = { $setOnInsert: { value: fresh } };
    await secrets.updateOne({ _id: LINK_SECRET_LOCATION.id }, update, { upsert: true });
    return (await LinkSigner.openExisting(documents)) ?? new LinkSigner(fresh);
  }

  /** Opens the service's signing key; null if no service has ever been started on these documents. */
  static async openExisting(documents: DocumentStore): Promise<LinkSigner | null> {
    const secrets = documents.collection<{ _id: string; value: string }>(SERVICE_SECRETS_COLLECTION);
    const kept = await secrets.findOne({ _id: LINK_SECRET_LOCATION.id });
    return kept && new LinkSigner(kept.value);
  }

  /**
   * The query string of a link: `expires` (epoch milliseconds) and `signature`, which covers the purpose, the subject
   * and the expiry.
   */
  sign(purpose: string, subject: string, expiresAt: Date): string {
    const expires = String(expiresAt.getTime());
    const signature = this.#signatureOf(purpose, subject, expires);
    return new URLSearchParams({ expires, signature }).toString();
  }

  /**
   * Verifies the query of a link.
   * @throws ApiError 403 forbidden with details.reason link_expired or link_invalid.
   */
  verify(
    purpose: string,
    subject: string,
    { expires = '', signature = '' }: { expires?: string; signature?: string },
    now: Date,
  ): void {
    // Texts are compared instead of bytes: base64url can spell the same bytes in several ways, but only one is valid.
    if (!isSecret(signature, this.#signatureOf(purpose, subject, expires))) {
      throw new ApiError('forbidden', 'The signature of this link does not match: ask for a new link.', {
        details: { reason: 'link_invalid' },
      });
    }
    if (Number(expires) <= now.getTime()) {
      throw new ApiError('forbidden', 'This link has expired: ask for a new link.', {
        details: { reason: 'link_expired' },
      });
    }
  }

  #signatureOf(purpose: string, subject: string, expires: string): string {
    return createHmac('sha256', this.#key)
      .update(JSON.stringify([purpose, subject, expires]))
      .digest('base64url');
  }
}

/**
 * Whether a text is the secret. Hashes are compared, so that the timing reveals neither the length nor the text of the
 * secret.
 */
export function isSecret(given: string, secret: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', secret, 'buffer'));
}
