import { hash, timingSafeEqual } from 'node:crypto';

/**
 * Whether a text is the secret. Hashes are compared, so that the timing reveals neither the length nor the text of the
 * secret.
 */
export function isSecret(given: string, secret: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', secret, 'buffer'));
}
