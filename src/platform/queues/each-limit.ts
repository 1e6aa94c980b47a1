/**
 * Runs a function for each element, a limited number at a time. A failure does not stop the others; the first failure
 * is thrown when all have ended.
 */
export async function forEachWithLimit<T>(
  elements: Iterable<T>,
  limit: number,
  work: (element: T) => Promise<unknown>,
): Promise<void> {
  const failures: unknown[] = [];
  const remaining = Iterator.from(elements);
  async function worker(): Promise<void> {
    for (let next = remaining.next(); !next.done; next = remaining.next()) {
      await work(next.value).catch((error: unknown) => failures.push(error));
    }
  }
  await Promise.all(Array.from({ length: limit }, worker));
  if (failures.length > 0) throw failures[0];
}
