import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { MEGABYTE } from '../../../platform/names/units.ts';

interface ScryptCost {
  N: number;
  r: number;
  p: number;
  /** The memory limit in bytes. */
  maxmem: number;
}

const derive = promisify<string, Buffer, number, ScryptCost, Buffer>(scrypt);

/** OWASP's first recommendation for scrypt: N 2^17, r 8, p 1 (128 MB, about 0.3 s). */
const COST = { N: 2 ** 17, r: 8, p: 1, maxmem: 192 * MEGABYTE };
const HASH_BYTES = 32;

/**
 * Hashes a password as `scrypt$N$r$p$salt$hash`, so that the cost can rise while stored hashes stay valid.
 * @param cost scrypt's parameters; other values than the default are for tests, which create dozens of accounts.
 */
export async function hashPassword(password: string, cost: ScryptCost = COST): Promise<string> {
  const salt = randomBytes(16);
  const hash = await derive(password.normalize('NFKC'), salt, HASH_BYTES, cost);
  return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64url'), hash.toString('base64url')].join('$');
}

/**
 * Compares in constant time. It takes 128 MB and a thread of libuv, so callers must limit how many run at once. A null
 * hash (no such account) costs the same and never matches.
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
const NOBODY = [
  'scrypt',
  COST.N,
  COST.r,
  COST.p,
  'AAAAAAAAAAAAAAAAAAAAAA',
  Buffer.alloc(HASH_BYTES).toString('base64url'),
].join('$');
