/**
 * Does the same for each of many, with a limit on how many at a time: each waits for stores, which serve several
 * callers as fast as one. Where it fails for some, it is done for the others all the same, and when all have ended the
 * first failure is thrown.
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
