/** The distinct values in order. Two values are equal if their JSON is. */
export function distinctValues<T>(values: readonly T[]): T[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}
