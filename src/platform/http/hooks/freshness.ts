/** Whether an If-None-Match header names this tag; weak ones count, as they do for reading. */
export function isFresh(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const plain = etag.replace(/^W\//, '');
  return header.split(',').some((tag) => ['*', plain].includes(tag.trim().replace(/^W\//, '')));
}
