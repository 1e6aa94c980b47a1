import { FOREIGN_NAMES } from './foreign-names.ts';

/** The longest name that is compared. A longer name is no misspelling. */
const MAX_COMPARED_NAME_CHARACTERS = 40;

/**
 * The known names that were most likely meant: one that is certain, several that are equally similar, or none. Similar
 * names differ in at most a third of their letters, which may be missing, added, exchanged or swapped with their
 * neighbour.
 * @param lettersPerSlip the number of letters per accepted wrong letter. A higher number finds fewer names.
 */
export function likelyNames(wrong: string, known: readonly string[], lettersPerSlip = 3): string[] {
  if (wrong.length > MAX_COMPARED_NAME_CHARACTERS) return [];
  const plain = normalizedNameOf(wrong);
  const equal = known.find((name) => normalizedNameOf(name) === plain);
  if (equal !== undefined) return [equal];
  const meant = namesMeantBy(plain, known);
  if (meant.length > 0) return meant;
  const below = findSiblingNames(wrong, known);
  if (below.length > 0) return below;
  const ending = known.filter((name) => TAIL_SEPARATORS.some((sign) => name.endsWith(`${sign}${plain}`)));
  if (ending.length > 0) return ending;
  const near = known.flatMap((name) => {
    const limit = Math.floor(Math.max(plain.length, name.length) / lettersPerSlip);
    const distance = editDistanceWithin(plain, normalizedNameOf(name), limit);
    return distance === undefined || isOpposite(plain, normalizedNameOf(name)) ? [] : [{ name, distance }];
  });
  const least = Math.min(...near.map(({ distance }) => distance));
  return near.filter(({ distance }) => distance === least).map(({ name }) => name);
}

/** The separators before the last part of a name, as in `image/png`, `job.completed` and `builtin-avatar`. */
const TAIL_SEPARATORS = ['/', '.', '-'];

/** The names of this service that a foreign name may stand for. */
const NAMES_BY_FOREIGN_NAME = Map.groupBy(
  Object.entries(FOREIGN_NAMES).flatMap(([name, words]) =>
    words.split(' ').map((foreign) => ({ name, foreign })),
  ),
  ({ foreign }) => foreign,
);

/** The known names for which other services use the normalized name `plain`. */
function namesMeantBy(plain: string, known: readonly string[]): string[] {
  const meant = NAMES_BY_FOREIGN_NAME.get(plain) ?? [];
  return meant.flatMap(({ name }) => known.filter((one) => normalizedNameOf(one) === normalizedNameOf(name)));
}

/**
 * The known names that have the same stem as a wrong name, and a last part that was probably meant. An example is
 * `job.completed` for `job.done`.
 */
function findSiblingNames(wrong: string, known: readonly string[]): string[] {
  const stem = wrong.slice(0, wrong.lastIndexOf('.') + 1);
  if (stem === '') return [];
  const tails = known.filter((name) => name.startsWith(stem)).map((name) => name.slice(stem.length));
  return namesMeantBy(normalizedNameOf(wrong.slice(stem.length)), tails).map((tail) => stem + tail);
}

/** The best of the likely names; undefined when no name is similar. */
export function nearestName(
  wrong: string,
  known: readonly string[],
  lettersPerSlip?: number,
): string | undefined {
  return likelyNames(wrong, known, lettersPerSlip)[0];
}

/** The end of a message about a wrong name: ` Did you mean width?`, or empty text. */
export function didYouMeanHint(wrong: string, known: readonly string[]): string {
  return meantWordHint(likelyNames(wrong, known));
}

/** The end of a message with the first of the likely words, or empty text. */
export function meantWordHint([word]: readonly string[]): string {
  return word === undefined ? '' : ` Did you mean ${word}?`;
}

/**
 * Puts a hint in front of a message that lists many names, so that the hint is read first.
 * @param hint as `didYouMeanHint` makes it.
 */
export function hintFirst(hint: string, message: string): string {
  return hint === '' ? message : `${hint.trimStart()} ${message}`;
}

/** Whether a wrong name is the negation of a known one, as `noenlarge` is of `enlarge`. */
function isOpposite(wrong: string, known: string): boolean {
  const [denial = ''] = /^(?:no|un|dis)/.exec(wrong) ?? [];
  return !known.startsWith(denial);
}

/** A name in lower case without separators: `max_bytes`, `MaxBytes` and `max-bytes` are equal. */
function normalizedNameOf(name: string): string {
  return name.toLowerCase().replaceAll(/[-_ ]/g, '');
}

/** Optimal string alignment distance: Levenshtein's, with swaps of neighbours; undefined if it is above a limit. */
function editDistanceWithin(one: string, other: string, limit: number): number | undefined {
  // Two words differ by at least the difference of their lengths.
  if (Math.abs(one.length - other.length) > limit) return undefined;
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const next = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const cost = one[row - 1] === other[column - 1] ? 0 : 1;
      const [above = 0, left = 0, diagonal = 0] = [last[column], next[column - 1], last[column - 1]];
      let distance = Math.min(above + 1, left + 1, diagonal + cost);
      const swapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (swapped && row > 1 && column > 1) distance = Math.min(distance, (before[column - 2] ?? 0) + 1);
      next.push(distance);
    }
    before = last;
    last = next;
  }
  const distance = last[other.length] ?? 0;
  return distance <= limit ? distance : undefined;
}
