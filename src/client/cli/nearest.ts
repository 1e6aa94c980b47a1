/**
 * The end of a message about a wrong name: ` Did you mean --width?`, or empty text. Similar names differ in at most a
 * third of their letters.
 */
export function didYouMeanHint(wrong: string, known: readonly string[]): string {
  const plain = normalizedName(wrong);
  const candidates = known.map((name) => ({ name, distance: editDistanceOf(plain, normalizedName(name)) }));
  const [best] = candidates.sort((one, other) => one.distance - other.distance);
  const isNear = best !== undefined && best.distance <= Math.max(plain.length, best.name.length) / 3;
  return isNear ? ` Did you mean ${best.name}?` : '';
}

/** The name without dashes, and in lower case. */
function normalizedName(name: string): string {
  return name.replaceAll('-', '').toLowerCase();
}

/** The edit distance of two names: how many letters to change, add, leave out, or swap with their neighbour. */
function editDistanceOf(one: string, other: string): number {
  const first = Array.from({ length: other.length + 1 }, (_, column) => column);
  const rows = [first];
  for (let row = 1; row <= one.length; row += 1) {
    const [above = first, beforeThat = first] = [rows[row - 1], rows[row - 2]];
    const next = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const cost = one[row - 1] === other[column - 1] ? 0 : 1;
      const changed = (above[column - 1] ?? 0) + cost;
      const isSwap = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      const swapped = isSwap ? (beforeThat[column - 2] ?? 0) + 1 : changed;
      next.push(Math.min(changed, swapped, (above[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    rows.push(next);
  }
  return rows[one.length]?.[other.length] ?? 0;
}
