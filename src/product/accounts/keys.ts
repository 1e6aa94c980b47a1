import { hash } from 'node:crypto';
import { randomText } from '../../platform/names/ids.ts';

const PREFIX = 'drk_';
const SECRET_CHARACTERS = 40;

/** How long the text of every API key is that the service made. */
export const KEY_CHARACTERS = PREFIX.length + SECRET_CHARACTERS;

/** A new API key's text (238 bits). It is shown once; only its hash is stored. */
export function newKeyText(): string {
  return PREFIX + randomText(SECRET_CHARACTERS);
}

/** Whether a text is meant as an API key. */
export function looksLikeKey(text: string): boolean {
  return text.startsWith(PREFIX);
}

/** The SHA-256 of a secret, base64url: it is stored and looked up in place of the secret. */
export function secretHash(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

/** The hint of a key in a listing: its prefix and the last 4 characters. */
export function keyHint(key: string): string {
  return `${PREFIX}…${key.slice(-4)}`;
}
