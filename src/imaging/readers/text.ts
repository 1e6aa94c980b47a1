import { join } from 'node:path';
import type { Line, PSM, Word, Worker } from 'tesseract.js';
import type { BoundingBox, UnreadTask } from '../../../workers/models/protocol.ts';
import { OnDemandThread } from '../../platform/concurrency/thread.ts';
import { orderByColumns, type WordedLine } from './columns.ts';
import {
  confidentCharacterCount,
  languageFolder,
  MIN_SURE_CONFIDENCE,
  type PreparedPicture,
  type TextLine,
  type TextReading,
} from './reading.ts';

const UNREAD_TEXT_THREAD = new URL('../../../workers/models/unread.ts', import.meta.url);
const UNREAD_HEAP_MEGABYTES = 128;

/** The number of the LSTM engine. The packages have language data for no other engine. */
const LSTM_ENGINE = 1;
const IDLE_TIMEOUT_MS = 60_000;
/**
 * The density that is assumed for every picture. Few pictures state theirs, and the reader would print a warning for
 * all others.
 */
const ASSUMED_DPI = '150';
/**
 * The layout of one column of text of any sizes: a heading and the text below it, with each row of a table as one line.
 */
const COLUMN_LAYOUT = '4' as PSM;
/** The layout of one block of text of one size. */
const BLOCK_LAYOUT = '6' as PSM;
/** The lowest confidence of text that is found as one block. False text in photographs has a lower one. */
const MIN_BLOCK_CONFIDENCE = 0.4;
/**
 * The lowest confidence of text in an area that the first reading left out. Such text must also contain two letters or
 * digits.
 */
const MIN_AREA_CONFIDENCE = 0.8;
const TWO_LETTERS_OR_DIGITS = /[\p{L}\p{N}].*[\p{L}\p{N}]/u;

type FoundText = Pick<TextReading, 'text' | 'confidence' | 'lines'>;
/** The text of a layout. A line may cross several columns. */
type LaidOutText = Omit<FoundText, 'lines'> & { lines: WordedLine[] };

/**
 * Reads text with tesseract.js in a separate thread, which is started for the first picture and ended after an idle
 * time. It reads one picture at a time, so callers must wait for the previous one. The size of the picture limits the
 * memory of the thread.
 */
export class TextReader {
  #thread: { language: string; worker: Promise<Worker> } | null = null;
  #idle: NodeJS.Timeout | undefined;
  readonly #unread = new OnDemandThread<UnreadTask, BoundingBox[]>(UNREAD_TEXT_THREAD, UNREAD_HEAP_MEGABYTES);

  /** Reads text. Rejects with the signal's reason when the signal aborts; the thread is then ended. */
  async read(picture: PreparedPicture, language: string, signal: AbortSignal): Promise<FoundText> {
    signal.throwIfAborted();
    clearTimeout(this.#idle);
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      return orderedText(await Promise.race([this.#readPicture(picture, language, signal), aborted]));
    } catch (error) {
      await this.#stop();
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
      this.#idle = setTimeout(() => void this.#stop(), IDLE_TIMEOUT_MS);
      this.#idle.unref();
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#stop(), this.#unread.close()]);
  }

  async #stop(): Promise<void> {
    clearTimeout(this.#idle);
    const stopped = this.#thread;
    this.#thread = null;
    await stopped?.worker.then(
      (worker) => worker.terminate(),
      () => undefined,
    );
  }

  /**
   * Reads a picture as a column of text, and then its areas with ink in which no line was found. This way of reading
   * misses single letters and text on photographs, so a picture without lines is read again as a block. A picture with
   * lines side by side is also read again as a block. An example is a receipt, whose amounts are far from their names.
   */
  async #readPicture(
    { png, ...size }: PreparedPicture,
    language: string,
    signal: AbortSignal,
  ): Promise<LaidOutText> {
    if (this.#thread?.language !== language) await this.#stop();
    this.#thread ??= { language, worker: startTesseract(language) };
    const worker = await this.#thread.worker;
    const readBlock = () => readWithLayout(BLOCK_LAYOUT, { worker, signal }, png);
    let column = await readWithLayout(COLUMN_LAYOUT, { worker, signal }, png);
    if (column.lines.length === 0) {
      const block = await readBlock();
      return block.confidence < MIN_BLOCK_CONFIDENCE ? { text: '', confidence: 0, lines: [] } : block;
    }
    if (hasLinesSideBySide(column.lines)) {
      const block = await readBlock();
      if (confidentCharacterCount(block) > confidentCharacterCount(column)) column = block;
    }
    if (column.confidence < MIN_SURE_CONFIDENCE) return column;
    const boxes = column.lines.filter(isSure).map(({ x, y, width, height }) => ({ x, y, width, height }));
    const areas = await this.#unread.run({ picture: png, size, lines: boxes }, signal);
    const added: WordedLine[] = [];
    for (const area of areas) {
      const { lines } = await readWithLayout(BLOCK_LAYOUT, { worker, signal }, png, area);
      const isCertain = ({ text, confidence }: TextLine) =>
        confidence >= MIN_AREA_CONFIDENCE && TWO_LETTERS_OR_DIGITS.test(text);
      added.push(...lines.filter(isCertain));
    }
    return added.length === 0 ? column : addLines(column.lines, added);
  }
}

/** Starts a reader. The language data is read from its package: nothing is downloaded or cached. */
async function startTesseract(language: string): Promise<Worker> {
  const { createWorker } = await import('tesseract.js');
  const worker = await createWorker(language, LSTM_ENGINE, {
    langPath: join(languageFolder(language), '4.0.0_best_int'),
    gzip: true,
    cacheMethod: 'none',
    errorHandler: () => undefined,
  });
  await worker.setParameters({ user_defined_dpi: ASSUMED_DPI });
  return worker;
}

/**
 * Reads a picture, or an area of it, with a layout. Boxes are in pixels of the picture. An aborted call stops its
 * worker. Nothing is sent to a stopped worker, because that would be an error that nobody handles.
 * @param area undefined for the whole picture.
 */
async function readWithLayout(
  layout: PSM,
  { worker, signal }: { worker: Worker; signal: AbortSignal },
  png: Uint8Array,
  area?: BoundingBox,
): Promise<LaidOutText> {
  signal.throwIfAborted();
  await worker.setParameters({ tessedit_pageseg_mode: layout });
  signal.throwIfAborted();
  const part = area && { rectangle: { left: area.x, top: area.y, width: area.width, height: area.height } };
  const { data } = await worker.recognize(Buffer.from(png), { ...part }, { text: true, blocks: true });
  const lines = (data.blocks ?? []).flatMap(({ paragraphs }) => paragraphs).flatMap(({ lines }) => lines);
  return {
    text: data.text.trim(),
    confidence: data.confidence / 100,
    lines: lines.map((line) => ({ ...textLineOf(line), words: line.words.map(textLineOf) })),
  };
}

function textLineOf({ text, confidence, bbox: { x0, y0, x1, y1 } }: Line | Word): TextLine {
  return {
    text: text.trim(),
    confidence: confidence / 100,
    ...{ x: x0, y: y0, width: x1 - x0, height: y1 - y0 },
  };
}

/** The text with its lines in reading order, column by column. */
function orderedText({ text, confidence, lines }: LaidOutText): FoundText {
  const ordered = orderByColumns(lines);
  return {
    text: ordered === lines ? text : ordered.map((line) => line.text).join('\n'),
    confidence,
    lines: ordered.map(({ words: _, ...line }) => line),
  };
}

/** Adds lines to others, in reading order. The added lines replace unsure lines that they overlap. */
function addLines(lines: readonly WordedLine[], added: readonly WordedLine[]): LaidOutText {
  const all = lines.filter((line) => isSure(line) || !added.some((other) => boxesOverlap(line, other)));
  for (const line of added) {
    const next = all.findIndex((other) => precedesInReadingOrder(line, other));
    all.splice(next < 0 ? all.length : next, 0, line);
  }
  const characters = all.reduce((sum, { text }) => sum + text.length, 0);
  const confidence = all.reduce((sum, line) => sum + line.confidence * line.text.length, 0) / characters;
  return { text: all.map(({ text }) => text).join('\n'), confidence, lines: all };
}

function isSure({ confidence }: TextLine): boolean {
  return confidence >= MIN_SURE_CONFIDENCE;
}

/** Whether a line precedes another one: it is above it, or to the left of it in the same row. */
function precedesInReadingOrder(line: BoundingBox, other: BoundingBox): boolean {
  return areInSameRow(line, other) ? line.x < other.x : middleOf(line) < middleOf(other);
}

function areInSameRow(one: BoundingBox, other: BoundingBox): boolean {
  return Math.abs(middleOf(one) - middleOf(other)) < Math.max(one.height, other.height) / 2;
}

function middleOf({ y, height }: BoundingBox): number {
  return y + height / 2;
}

/** Whether two of the lines lie side by side. They may then be parts of one row. */
function hasLinesSideBySide(lines: readonly BoundingBox[]): boolean {
  return lines.some((line, index) =>
    lines.slice(index + 1).some((other) => areInSameRow(line, other) && !boxesOverlap(line, other)),
  );
}

function boxesOverlap(one: BoundingBox, other: BoundingBox): boolean {
  return (
    one.x < other.x + other.width &&
    other.x < one.x + one.width &&
    one.y < other.y + other.height &&
    other.y < one.y + one.height
  );
}
