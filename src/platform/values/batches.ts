/** Divides a list into consecutive batches of at most `size` entries. */
export function* inBatches<T>(entries: readonly T[], size: number): Generator<T[]> {
  for (let start = 0; start < entries.length; start += size) yield entries.slice(start, start + size);
}
