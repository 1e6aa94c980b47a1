import { DAY_MS, MEGABYTE_BYTES } from '../../platform/values/units.ts';

/** The maximum size of a stored image. Each image in a multipart body may have this size. */
export const MAX_UPLOAD_BYTES = 34 * MEGABYTE_BYTES;
/** The maximum number of images in one multipart body. */
export const MAX_UPLOAD_FILES = 100;
/** The maximum size of an image that is downloaded from a URL, for an upload or a synchronous call. */
export const MAX_FETCHED_IMAGE_BYTES = 25 * MEGABYTE_BYTES;
export const IMAGE_FETCH_TIMEOUT_MS = 20_000;
/** The maximum number of concurrent fetches of a process, because each holds its whole image in memory. */
export const MAX_CONCURRENT_IMAGE_FETCHES = 4;
/** The lifetime of an upload URL, and the longest lifetime of an upload ticket. */
export const UPLOAD_URL_LIFE_MS = 15 * 60_000;
/** The shortest lifetime of an upload ticket. */
export const MIN_TICKET_LIFE_MS = 60_000;
/** The lifetime of a link if the caller does not choose one. */
export const DEFAULT_LINK_LIFE_SECONDS = 300;
/** How long the record of a failed upload can be read. */
export const FAILED_ASSET_LIFE_MS = DAY_MS;
/**
 * The age at which the process of an unfinished upload must have died. No upload takes as long, because BODY_TIMEOUT_MS
 * is at most an hour.
 */
export const MAX_UNFINISHED_UPLOAD_MS = 2 * 60 * 60_000;
