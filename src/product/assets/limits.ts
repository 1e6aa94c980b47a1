import { DAY_MS, MEGABYTE_BYTES } from '../../platform/values/units.ts';

/** Largest image that is stored, in bytes, and largest multipart body per image that it contains. */
export const MAX_UPLOAD_BYTES = 34 * MEGABYTE_BYTES;
/** The most images of one multipart body. */
export const MAX_UPLOAD_FILES = 100;
/** Largest image that is fetched from a URL, for uploads as for synchronous calls, in bytes. */
export const MAX_FETCHED_IMAGE_BYTES = 25 * MEGABYTE_BYTES;
export const IMAGE_FETCH_TIMEOUT_MS = 20_000;
/** The most concurrent fetches of a process, because each holds its whole image in memory. */
export const MAX_CONCURRENT_IMAGE_FETCHES = 4;
/** Lifetime of an upload URL, and the longest lifetime of a ticket. */
export const UPLOAD_URL_LIFE_MS = 15 * 60_000;
/** Shortest lifetime of a ticket. */
export const MIN_TICKET_LIFE_MS = 60_000;
/** Lifetime of a link whose caller names none. */
export const LINK_LIFE_SECONDS = 300;
/** How long a failed asset can be read. */
export const FAILED_ASSET_LIFE_MS = DAY_MS;
/**
 * Longer than any upload takes: BODY_TIMEOUT_MS is at most an hour. The process of an older unfinished upload must have
 * died.
 */
export const MAX_UNFINISHED_UPLOAD_MS = 2 * 60 * 60_000;
