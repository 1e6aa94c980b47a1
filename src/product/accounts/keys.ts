import { hash } from 'node:crypto';
import { randomText } from '../../platform/ids/ids.ts';

const PREFIX = 'drk_';
const SECRET_CHARACTERS = 40;

/** The length of every API key that the service generates, in characters. */
export const API_KEY_CHARACTERS = PREFIX.length + SECRET_CHARACTERS;

/** The text of a new API key (238 random bits). It is shown once; only its hash is stored. */
export function newApiKeyText(): string {
  return PREFIX + randomText(SECRET_CHARACTERS);
}

/** Whether a text is meant as an API key. */
export function looksLikeApiKey(text: string): boolean {
  return text.startsWith(PREFIX);
}

/** The form in which a secret is stored and looked up: its SHA-256 in base64url. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

/** The part of a key that a listing shows: its prefix and the last 4 characters. */
export function apiKeyHint(key: string): string {
  return `${PREFIX}…${key.slice(-4)}`;
}
