const MEGABYTE = 1024 * 1024;

/** Largest image of the synchronous lane, in bytes, however it comes. */
export const IMAGE_LIMIT_BYTES = 25 * MEGABYTE;
/** Largest multipart body around one. */
export const MULTIPART_LIMIT_BYTES = 34 * MEGABYTE;
/** Wall clock of a transform and of a metadata call, from the request to its answer. */
export const TRANSFORM_DEADLINE_MS = 10_000;
/** Wall clock of a render. */
export const RENDER_DEADLINE_MS = 20_000;
/** Life of a result behind `response=url`. */
export const RESULT_LIFE_SECONDS = 300;
