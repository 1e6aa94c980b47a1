import { MEGABYTE } from '../../platform/names/units.ts';

/** Largest image of a synchronous call, in bytes, however it comes. */
export const IMAGE_LIMIT_BYTES = 25 * MEGABYTE;
/** Largest multipart body around one. */
export const MULTIPART_LIMIT_BYTES = 34 * MEGABYTE;
/** Life of a result behind `response=url`. */
export const RESULT_LIFE_SECONDS = 300;
