import { hash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { newId, randomText } from '../../platform/ids/ids.ts';
import { DuplicateKeyError } from '../../platform/stores/documents/port.ts';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';
import type { AccountDocument, AccountsStore, ApiKeyDocument } from './store.ts';

interface NewAccount
  extends Pick<AccountDocument, 'email' | 'plan' | 'unfinished'>,
    Partial<Pick<AccountDocument, 'name'>> {
  password: string;
}

/**
 * Creates an account without credits. E-mail addresses are unique regardless of case.
 * @throws ApiError invalid_param on `email` when it is taken.
 */
export async function createAccount(
  store: AccountsStore,
  account: NewAccount,
  now: Date,
): Promise<AccountDocument> {
  const email = account.email.toLowerCase();
  const document: AccountDocument = {
    _id: newId('acc', now.getTime()),
    email,
    name: account.name ?? email,
    plan: account.plan,
    passwordHash: await hashPassword(account.password),
    createdAt: now.toISOString(),
    ...(account.unfinished && { unfinished: true }),
  };
  try {
    await store.insert(document);
  } catch (error) {
    if (!(error instanceof DuplicateKeyError)) throw error;
    throw invalidParamError('email', `An account with the e-mail ${email} exists already: use another.`);
  }
  return document;
}

/**
 * Creates an API key. Its text is only in the return value; the store has its hash.
 * @param text the text of the key, if the operator has set it. Default: a new text.
 */
export async function createApiKey(
  store: AccountsStore,
  accountId: string,
  name: string,
  now: Date,
  text: string = newApiKeyText(),
): Promise<{ apiKey: ApiKeyDocument; key: string }> {
  const apiKey: ApiKeyDocument = {
    _id: newId('key', now.getTime()),
    accountId,
    name,
    hash: hashSecret(text),
    // A listing shows the prefix and the last 4 characters.
    hint: `${API_KEY_PREFIX}…${text.slice(-4)}`,
    createdAt: now.toISOString(),
    lastUsedAt: null,
    revokedAt: null,
  };
  await store.insertKey(apiKey);
  return { apiKey, key: text };
}

const API_KEY_PREFIX = 'drk_';
const SECRET_LENGTH = 40;

/** The length of every API key that the service generates, in characters. */
export const API_KEY_CHARACTERS = API_KEY_PREFIX.length + SECRET_LENGTH;

/** The text of a new API key (238 random bits). It is shown once; only its hash is stored. */
export function newApiKeyText(): string {
  return API_KEY_PREFIX + randomText(SECRET_LENGTH);
}

export function looksLikeApiKey(text: string): boolean {
  return text.startsWith(API_KEY_PREFIX);
}

/** The form in which a secret is stored and looked up: its SHA-256 in base64url. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

interface ScryptCost {
  N: number;
  r: number;
  p: number;
  /** The memory limit in bytes. */
  maxmem: number;
}

const deriveKey = promisify<string, Buffer, number, ScryptCost, Buffer>(scrypt);

/** The parameters that OWASP recommends first for scrypt: N 2^17, r 8, p 1. Hashing takes 128 MB and about 0.3 s. */
const SCRYPT_COST = { N: 2 ** 17, r: 8, p: 1, maxmem: 192 * MEGABYTE_BYTES };
const SALT_BYTES = 16;
const PASSWORD_HASH_BYTES = 32;

/**
 * Hashes a password as `scrypt$N$r$p$salt$hash`. The parameters are part of the text, so that older hashes stay valid
 * when the cost is raised.
 * @param cost the parameters of scrypt. Only tests change them, because they create dozens of accounts.
 */
export async function hashPassword(password: string, cost: ScryptCost = SCRYPT_COST): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await deriveKey(password.normalize('NFKC'), salt, PASSWORD_HASH_BYTES, cost);
  return encodePasswordHash(cost, salt, hash);
}

function encodePasswordHash({ N, r, p }: ScryptCost, salt: Buffer, hash: Buffer): string {
  return ['scrypt', N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$');
}

/**
 * Compares a password with a hash in constant time. A comparison takes 128 MB and a thread of libuv, so callers must
 * limit how many run at once. For an account that does not exist, the hash is null: the comparison takes the same time
 * and returns false.
 */
export async function passwordMatches(password: string, stored: string | null): Promise<boolean> {
  const [, n, r, p, salt, hash] = (stored ?? UNMATCHABLE_HASH).split('$');
  const expected = Buffer.from(hash ?? '', 'base64url');
  const cost = { N: Number(n), r: Number(r), p: Number(p), maxmem: SCRYPT_COST.maxmem };
  const saltBytes = Buffer.from(salt ?? '', 'base64url');
  const given = await deriveKey(password.normalize('NFKC'), saltBytes, PASSWORD_HASH_BYTES, cost);
  return timingSafeEqual(given, expected) && stored !== null;
}

/** A hash that no password matches: 32 zero bytes at the current cost. */
const UNMATCHABLE_HASH = encodePasswordHash(
  SCRYPT_COST,
  Buffer.alloc(SALT_BYTES),
  Buffer.alloc(PASSWORD_HASH_BYTES),
);
