import { MEGABYTE } from '../../platform/names/units.ts';

/** Largest image of a synchronous call, in bytes, whatever its source. */
export const IMAGE_LIMIT_BYTES = 25 * MEGABYTE;
/** Largest multipart body with such an image, in bytes. */
export const MULTIPART_LIMIT_BYTES = 34 * MEGABYTE;
/** Lifetime of a result behind `response=url`, in seconds. */
export const RESULT_LIFE_SECONDS = 300;
