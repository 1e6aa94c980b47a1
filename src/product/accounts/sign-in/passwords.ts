import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { MEGABYTE_BYTES } from '../../../platform/values/units.ts';

interface ScryptCost {
  N: number;
  r: number;
  p: number;
  /** The memory limit in bytes. */
  maxmem: number;
}

const derive = promisify<string, Buffer, number, ScryptCost, Buffer>(scrypt);

/** OWASP's first recommendation for scrypt: N 2^17, r 8, p 1 (128 MB, about 0.3 s). */
const COST = { N: 2 ** 17, r: 8, p: 1, maxmem: 192 * MEGABYTE_BYTES };
const SALT_BYTES = 16;
const HASH_BYTES = 32;

/**
 * Hashes a password as `scrypt$N$r$p$salt$hash`. The parameters are stored, so that the cost can rise while existing
 * hashes stay valid.
 * @param cost scrypt's parameters. Other values than the default are for tests, which create dozens of accounts.
 */
export async function hashPassword(password: string, cost: ScryptCost = COST): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password.normalize('NFKC'), salt, HASH_BYTES, cost);
  return encoded(cost, salt, hash);
}

function encoded({ N, r, p }: ScryptCost, salt: Buffer, hash: Buffer): string {
  return ['scrypt', N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$');
}

/**
 * Compares a password with a hash in constant time. It takes 128 MB and a thread of libuv, so callers must limit how
 * many run at once. A null hash (no such account) costs the same and never matches.
 */
export async function passwordMatches(password: string, stored: string | null): Promise<boolean> {
  const [, n, r, p, salt, hash] = (stored ?? NOBODY).split('$');
  const expected = Buffer.from(hash ?? '', 'base64url');
  const cost = { N: Number(n), r: Number(r), p: Number(p), maxmem: COST.maxmem };
  const given = await derive(
    password.normalize('NFKC'),
    Buffer.from(salt ?? '', 'base64url'),
    HASH_BYTES,
    cost,
  );
  return timingSafeEqual(given, expected) && stored !== null;
}

/** A hash that no password matches: 32 zero bytes under the current cost. */
const NOBODY = encoded(COST, Buffer.alloc(SALT_BYTES), Buffer.alloc(HASH_BYTES));
