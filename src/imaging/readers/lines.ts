import type { BoundingBox } from '../../../workers/models/protocol.ts';
import type { TextLine } from './reading.ts';

/** A line with its words, from left to right. */
export interface WordedLine extends TextLine {
  words: readonly TextLine[];
}

/** The lowest mean confidence of the words of a line. False text in photographs has a lower one. */
export const MIN_LINE_CONFIDENCE = 0.5;
/** Text with at least this confidence counts as read correctly. */
export const MIN_SURE_CONFIDENCE = 0.6;

/**
 * The highest confidence of a word that two readings read differently. The reader states at least 0.8 for a third of
 * the words that it misreads. At another scale, it reads most of them in another way.
 */
const MAX_DISPUTED_CONFIDENCE = 0.5;
/** Two readings whose confidences differ by at most this are equally sure. */
const MAX_EQUAL_CONFIDENCE_DIFFERENCE = 0.02;

/** The number of characters that a reader has probably read correctly. */
export function confidentCharacterCount(lines: readonly WordedLine[]): number {
  return lines
    .flatMap(({ words }) => words)
    .filter(({ confidence }) => confidence >= MIN_SURE_CONFIDENCE)
    .reduce((sum, { text, confidence }) => sum + text.length * confidence, 0);
}

/** The mean confidence of the words, weighted by their characters; 0 without words. */
export function confidenceOf(lines: readonly WordedLine[]): number {
  const words = lines.flatMap((line) => line.words);
  const characters = words.reduce((sum, { text }) => sum + text.length, 0);
  const sum = words.reduce((sum, { text, confidence }) => sum + confidence * text.length, 0);
  return Math.round((100 * sum) / Math.max(1, characters)) / 100;
}

export function joinWords(words: readonly TextLine[]): WordedLine {
  const [x, y] = [Math.min(...words.map((word) => word.x)), Math.min(...words.map((word) => word.y))];
  return {
    text: words.map(({ text }) => text).join(' '),
    confidence: Math.min(...words.map(({ confidence }) => confidence)),
    ...{ x, y },
    width: Math.max(...words.map(rightEdgeOf)) - x,
    height: Math.max(...words.map((word) => word.y + word.height)) - y,
    words,
  };
}

export function isSure(line: WordedLine): boolean {
  return confidenceOf([line]) >= MIN_SURE_CONFIDENCE;
}

/** Scales a line to a picture that is larger by a factor. */
export function scaleLine({ words }: WordedLine, by: number): WordedLine {
  const scaled = words.map(({ x, y, width, height, ...word }) => {
    return { ...word, x: by * x, y: by * y, width: by * width, height: by * height };
  });
  return joinWords(scaled);
}

export function rightEdgeOf({ x, width }: BoundingBox): number {
  return x + width;
}

export function boxesOverlap(one: BoundingBox, other: BoundingBox): boolean {
  return (
    one.x < other.x + other.width &&
    other.x < one.x + one.width &&
    one.y < other.y + other.height &&
    other.y < one.y + one.height
  );
}

/** Adds lines to others, from top to bottom. The added lines replace unsure lines that they overlap. */
export function mergeLines(lines: readonly WordedLine[], added: readonly WordedLine[]): WordedLine[] {
  const all = lines.filter((line) => isSure(line) || !added.some((other) => boxesOverlap(line, other)));
  for (const line of added) {
    const next = all.findIndex((other) => precedesInReadingOrder(line, other));
    all.splice(next < 0 ? all.length : next, 0, line);
  }
  return all;
}

/** Whether a line precedes another one: it is above it, or to the left of it in the same row. */
function precedesInReadingOrder(line: BoundingBox, other: BoundingBox): boolean {
  return areInSameRow(line, other) ? line.x < other.x : middleOf(line) < middleOf(other);
}

function areInSameRow(one: BoundingBox, other: BoundingBox): boolean {
  return Math.abs(middleOf(one) - middleOf(other)) < Math.max(one.height, other.height) / 2;
}

/**
 * Joins two readings of one picture at different scales. The reading with more confident characters counts, and sure
 * lines that only the other reading has are added. If the readings disagree about a word, the word is doubtful and gets
 * the text with the higher confidence. Of two equally sure texts it gets the longer one, because a reader loses
 * characters, such as a decimal point, more often than it invents them.
 */
export function joinReadings(one: readonly WordedLine[], other: readonly WordedLine[]): WordedLine[] {
  const isOtherBetter = confidentCharacterCount(other) > confidentCharacterCount(one);
  const [better, worse] = isOtherBetter ? [other, one] : [one, other];
  const checked = better.map((line) => {
    const words = worse.filter((other) => boxesOverlap(line, other)).flatMap((other) => other.words);
    return joinWords(line.words.map((word) => withDisputedConfidence(word, words)));
  });
  const added = worse.filter((line) => isSure(line) && !better.some((known) => boxesOverlap(line, known)));
  return mergeLines(checked, added);
}

/** The word itself, or the word with a lower confidence if another reading has other words in its place. */
function withDisputedConfidence(word: TextLine, others: readonly TextLine[]): TextLine {
  const overlapping = others.filter((other) => hasMiddleIn(word, other) || hasMiddleIn(other, word));
  const [only] = overlapping;
  if (only === undefined || overlapping.some(({ text }) => text === word.text)) return word;
  const isSameWord = overlapping.length === 1 && hasMiddleIn(word, only) && hasMiddleIn(only, word);
  const { text, confidence } = isSameWord ? likelierOf(word, only) : word;
  return { ...word, text, confidence: Math.min(confidence, MAX_DISPUTED_CONFIDENCE) };
}

function likelierOf(one: TextLine, other: TextLine): TextLine {
  const isOtherLikelier =
    Math.abs(other.confidence - one.confidence) <= MAX_EQUAL_CONFIDENCE_DIFFERENCE
      ? other.text.length > one.text.length
      : other.confidence > one.confidence;
  return isOtherLikelier ? other : one;
}

/** Whether the middle of a box lies in another one. */
function hasMiddleIn({ x, y, width, height }: BoundingBox, outer: BoundingBox): boolean {
  const [middleX, middleY] = [x + width / 2, y + height / 2];
  return (
    middleX >= outer.x &&
    middleX <= outer.x + outer.width &&
    middleY >= outer.y &&
    middleY <= outer.y + outer.height
  );
}

function middleOf({ y, height }: BoundingBox): number {
  return y + height / 2;
}
