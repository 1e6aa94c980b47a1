import { createHmac, timingSafeEqual } from 'node:crypto';

/** The characters of a signature: 192 bits of the HMAC in base64url. */
export const SIGNATURE_CHARACTERS = 32;

/**
 * The signature of a message: the first 32 characters of the base64url of its HMAC-SHA256. The HMAC key is the text of
 * the secret, exactly as it was returned to the account.
 */
export function signatureOf(secret: string, message: string): string {
  return createHmac('sha256', secret).update(message).digest('base64url').slice(0, SIGNATURE_CHARACTERS);
}

/** Whether a signature fits the message. The comparison takes constant time. */
export function isSignatureOf(signature: string, secret: string, message: string): boolean {
  const expected = Buffer.from(signatureOf(secret, message));
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
