/**
 * Runs a function for each element, a limited number at a time. A failure does not stop the others; the first failure
 * is thrown when all have ended.
 */
export async function eachLimit<T>(
  many: Iterable<T>,
  mostAtOnce: number,
  work: (one: T) => Promise<unknown>,
): Promise<void> {
  const failures: unknown[] = [];
  const left = Iterator.from(many);
  async function worker(): Promise<void> {
    for (let next = left.next(); !next.done; next = left.next()) {
      await work(next.value).catch((error: unknown) => failures.push(error));
    }
  }
  await Promise.all(Array.from({ length: mostAtOnce }, worker));
  if (failures.length > 0) throw failures[0];
}
