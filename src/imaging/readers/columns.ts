import type { BoundingBox } from '../../../workers/models/protocol.ts';
import { joinWords, rightEdgeOf, type WordedLine } from './lines.ts';
import type { TextLine } from './reading.ts';

/** The blank between two words of a line. */
interface Space {
  left: number;
  right: number;
}

/** A blank vertical band between two columns of text, in consecutive lines. */
interface Gutter extends Space {
  /** The index of the first line, and the one after the last. */
  start: number;
  end: number;
}

/** The smallest width of a gutter, as a multiple of the median space between two words. */
const MIN_GUTTER_WIDTH_SPACES = 2;
/** The largest width of a gutter, as a share of the narrower column. Cells of tables and forms lie farther apart. */
const MAX_GUTTER_WIDTH_SHARE = 1 / 4;
/** The fewest lines of which both columns have words. */
const MIN_SHARED_LINES = 4;
/** Half of the lines of a column of prose fill at least this share of its width. Cells of a table differ more. */
const MIN_FILLED_WIDTH_SHARE = 3 / 4;
/** The fewest words of a line of a column, on average. The cells of a table have fewer. */
const MIN_WORDS_PER_LINE = 3;
/**
 * The most gutters that are tried for one picture. A page of ten columns needs nine. The limit is for hostile pages,
 * because each column is searched for gutters too, which could otherwise occupy the event loop for minutes.
 */
const MAX_TRIED_GUTTERS = 100;

/** The number of gutters that one ordering may still try. */
interface OrderingBudget {
  triesLeft: number;
}

/**
 * Takes lines that cross a gutter apart, and orders the lines column by column. The rows of receipts, tables and forms
 * stay whole. A line across all columns, such as a heading, ends the columns above it.
 */
export function orderByColumns(lines: WordedLine[]): WordedLine[] {
  return orderLines(lines, { triesLeft: MAX_TRIED_GUTTERS });
}

function orderLines(lines: WordedLine[], work: OrderingBudget): WordedLine[] {
  for (const gutter of findGutters(lines)) {
    if (work.triesLeft === 0) break;
    work.triesLeft -= 1;
    const columns = orderedColumns(gutter, lines, work);
    if (columns === undefined) continue;
    const [above, below] = [lines.slice(0, gutter.start), lines.slice(gutter.end)];
    return [orderLines(above, work), ...columns, orderLines(below, work)].flat();
  }
  return lines;
}

/**
 * The gutters between words of consecutive lines, the longest first. A space around a found gutter
 * begins no other.
 */
function findGutters(lines: WordedLine[]): Gutter[] {
  const minWidth =
    MIN_GUTTER_WIDTH_SPACES * medianOf(lines.flatMap(({ words }) => spacesOf(words).map(widthOf)));
  const bands: Gutter[] = [];
  for (const [index, { words }] of lines.entries()) {
    for (const space of spacesOf(words)) {
      const isKnown = bands.some(
        ({ start, end, left, right }) =>
          index >= start && index < end && left >= space.left && right <= space.right,
      );
      if (widthOf(space) >= minWidth && !isKnown) bands.push(gutterFrom(space, index, lines, minWidth));
    }
  }
  return bands.toSorted((one, other) => other.end - other.start - (one.end - one.start));
}

/**
 * The gutter that begins as a space of one line, and continues through the neighbouring lines that leave it wide
 * enough.
 */
function gutterFrom(space: Space, index: number, lines: WordedLine[], minWidth: number): Gutter {
  const gutter = { ...space, start: index, end: index + 1 };
  const narrow = (line: WordedLine | undefined): boolean => {
    if (line === undefined) return false;
    const [before, after] = wordsBeside(gutter, line);
    const left = Math.max(gutter.left, ...before.map(rightEdgeOf));
    const right = Math.min(gutter.right, ...after.map(({ x }) => x));
    if (right - left < minWidth) return false;
    Object.assign(gutter, { left, right });
    return true;
  };
  while (narrow(lines[gutter.end])) gutter.end += 1;
  while (narrow(lines[gutter.start - 1])) gutter.start -= 1;
  return gutter;
}

/** The columns on both sides of a gutter, each in order; undefined if their texts are the cells of rows. */
function orderedColumns(
  gutter: Gutter,
  lines: WordedLine[],
  work: OrderingBudget,
): WordedLine[][] | undefined {
  const columns = columnsBeside(gutter, lines);
  const lineCount = gutter.end - gutter.start;
  const sharedCount = columns[0].length + columns[1].length - lineCount;
  if (sharedCount < Math.max(MIN_SHARED_LINES, lineCount / 2)) return undefined;
  if (!columns.every((column) => isProse(column, gutter))) return undefined;
  const ordered = columns.map((column) => orderLines(column, work));
  return ordered.some((column) => areTableRows(column, widthOf(gutter))) ? undefined : ordered;
}

/** Whether the lines beside a gutter are prose, by their words and by how much of the column they fill. */
function isProse(column: WordedLine[], gutter: Gutter): boolean {
  const columnWidth = Math.max(...column.map(rightEdgeOf)) - Math.min(...column.map(({ x }) => x));
  const wordCount = column.reduce((sum, { words }) => sum + words.length, 0);
  return (
    widthOf(gutter) <= MAX_GUTTER_WIDTH_SHARE * columnWidth &&
    medianOf(column.map(({ width }) => width)) >= MIN_FILLED_WIDTH_SHARE * columnWidth &&
    wordCount >= MIN_WORDS_PER_LINE * column.length
  );
}

/** Whether most lines have a space as wide as a gutter, as the rows of a table with several columns have. */
function areTableRows(lines: WordedLine[], gutterWidth: number): boolean {
  const wide = lines.filter(({ words }) => spacesOf(words).some((space) => widthOf(space) >= gutterWidth));
  return wide.length > lines.length / 2;
}

/** The parts of the lines on the left and on the right of a gutter. */
function columnsBeside(gutter: Gutter, lines: WordedLine[]): [WordedLine[], WordedLine[]] {
  const parts = lines.slice(gutter.start, gutter.end).map((line) => wordsBeside(gutter, line));
  const columnOf = (words: readonly TextLine[][]) => words.filter((part) => part.length > 0).map(joinWords);
  return [columnOf(parts.map(([before]) => before)), columnOf(parts.map(([, after]) => after))];
}

/** The words of a line whose middle is on the left, and on the right, of the middle of a gutter. */
function wordsBeside({ left, right }: Space, { words }: WordedLine) {
  const isBefore = ({ x, width }: BoundingBox) => x + width / 2 < (left + right) / 2;
  return [words.filter(isBefore), words.filter((word) => !isBefore(word))] as const;
}

/** The spaces between the words of a line. */
function spacesOf(words: readonly TextLine[]): Space[] {
  return words
    .slice(1)
    .map((word, index) => ({ left: rightEdgeOf(words[index] as TextLine), right: word.x }));
}

function widthOf({ left, right }: Space): number {
  return right - left;
}

export function medianOf(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0;
}
