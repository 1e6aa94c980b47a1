const KEY = /^[a-zA-Z0-9_.-]+(\/[a-zA-Z0-9_.-]+)*$/;
const MAX_SEGMENT_CHARACTERS = 200;

/**
 * Throws unless the key is valid in every implementation: segments of `[a-zA-Z0-9_.-]`, none of them `.` or `..`,
 * between slashes. Keys are created by the service and never by a client, so an invalid one is a programming error.
 */
export function assertKey(key: string): void {
  const ordinary = (segment: string) =>
    segment !== '.' && segment !== '..' && segment.length <= MAX_SEGMENT_CHARACTERS;
  if (!KEY.test(key) || !key.split('/').every(ordinary)) {
    throw new TypeError(`"${key}" cannot be the key of an object.`);
  }
}
