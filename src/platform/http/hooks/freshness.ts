/** Whether an If-None-Match header contains this ETag, by weak comparison. */
export function isFresh(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const plain = etag.replace(/^W\//, '');
  return header.split(',').some((tag) => ['*', plain].includes(tag.trim().replace(/^W\//, '')));
}
