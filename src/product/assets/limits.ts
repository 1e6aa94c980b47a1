import { DAY_MS, MEGABYTE } from '../../platform/names/units.ts';

/** Largest image that is stored, and largest multipart body around one. */
export const UPLOAD_LIMIT_BYTES = 34 * MEGABYTE;
/** Largest image that is fetched from a url, here as in a synchronous call. */
export const URL_LIMIT_BYTES = 25 * MEGABYTE;
export const URL_TIMEOUT_MS = 20_000;
/** Fetches at once in a process: each holds its whole image. */
export const URL_FETCHES = 4;
/** Life of an upload url. */
export const PUT_LIFE_MS = 15 * 60_000;
/** How long a failed asset can be looked at. */
export const FAILED_LIFE_MS = DAY_MS;
/**
 * Longer than any upload takes, from its first byte to its asset: BODY_TIMEOUT_MS is at most an hour. What is older and
 * not done was left by a process that died.
 */
export const UNFINISHED_MS = 2 * 60 * 60_000;
