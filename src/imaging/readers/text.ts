import { join } from 'node:path';
import type { PSM, Word, Worker } from 'tesseract.js';
import type { BoundingBox, UnreadTextTask } from '../../../workers/models/protocol.ts';
import { OnDemandThread } from '../../platform/concurrency/thread.ts';
import {
  confidenceOf,
  isSure,
  joinWords,
  MIN_SURE_CONFIDENCE,
  mergeLines,
  type WordedLine,
} from './lines.ts';
import { languageDataFolderOf, type PreparedPicture, type TextLine } from './reading.ts';

const UNREAD_TEXT_THREAD_FILE = new URL('../../../workers/models/unread.ts', import.meta.url);
const UNREAD_TEXT_HEAP_MEGABYTES = 128;

/** The number of the LSTM engine. The packages have language data for no other engine. */
const LSTM_ENGINE = 1;
const IDLE_THREAD_TIMEOUT_MS = 60_000;
/**
 * The density that is assumed for every picture. Few pictures state theirs, and the reader would print a warning for
 * all others.
 */
const ASSUMED_DPI = '150';
/** The layout of one block of text, in which each row of a table is one line. */
const BLOCK_LAYOUT = '6' as PSM;
/** The lowest confidence of a whole text. False text in photographs has a lower one. */
const MIN_TEXT_CONFIDENCE = 0.4;
/**
 * The lowest confidence of text in an area that the first reading left out. Such text must also contain two letters or
 * digits.
 */
const MIN_UNREAD_AREA_CONFIDENCE = 0.8;
const TWO_LETTERS_OR_DIGITS = /[\p{L}\p{N}].*[\p{L}\p{N}]/u;

/**
 * Reads text with tesseract.js in a separate thread, which is started for the first picture and ended after an idle
 * time. It reads one picture at a time, so callers must wait for the previous one. The size of the picture limits the
 * memory of the thread.
 */
export class TextReader {
  #thread: { language: string; worker: Promise<Worker> } | null = null;
  #idleTimer: NodeJS.Timeout | undefined;
  readonly #unreadTextThread = new OnDemandThread<UnreadTextTask, BoundingBox[]>(
    UNREAD_TEXT_THREAD_FILE,
    UNREAD_TEXT_HEAP_MEGABYTES,
  );

  /**
   * Reads the lines of a picture from top to bottom. A line may cross several columns. Rejects with the signal's reason
   * when the signal aborts; the thread is then ended.
   */
  async read(picture: PreparedPicture, language: string, signal: AbortSignal): Promise<WordedLine[]> {
    signal.throwIfAborted();
    clearTimeout(this.#idleTimer);
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await Promise.race([this.#readPicture(picture, language, signal), aborted]);
    } catch (error) {
      await this.#stop();
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
      this.#idleTimer = setTimeout(() => void this.#stop(), IDLE_THREAD_TIMEOUT_MS);
      this.#idleTimer.unref();
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#stop(), this.#unreadTextThread.close()]);
  }

  async #stop(): Promise<void> {
    clearTimeout(this.#idleTimer);
    const stopped = this.#thread;
    this.#thread = null;
    await stopped?.worker.then(
      (worker) => worker.terminate(),
      () => undefined,
    );
  }

  /**
   * Reads a picture as a block of text, and then its areas with ink in which no line was found, such as headings that
   * are far larger than the text, buttons and small print.
   */
  async #readPicture(
    { png, ...size }: PreparedPicture,
    language: string,
    signal: AbortSignal,
  ): Promise<WordedLine[]> {
    if (this.#thread?.language !== language) await this.#stop();
    this.#thread ??= { language, worker: startTesseract(language) };
    const worker = await this.#thread.worker;
    await worker.setParameters({ tessedit_pageseg_mode: BLOCK_LAYOUT });
    const lines = await readLines({ worker, signal }, png);
    const confidence = confidenceOf(lines);
    if (confidence < MIN_TEXT_CONFIDENCE) return [];
    if (confidence < MIN_SURE_CONFIDENCE) return lines;
    const boxes = lines.filter(isSure).map(({ x, y, width, height }) => ({ x, y, width, height }));
    const areas = await this.#unreadTextThread.run({ picture: png, size, lines: boxes }, signal);
    const added: WordedLine[] = [];
    for (const area of areas) {
      const isCertain = (line: WordedLine) =>
        confidenceOf([line]) >= MIN_UNREAD_AREA_CONFIDENCE && TWO_LETTERS_OR_DIGITS.test(line.text);
      added.push(...(await readLines({ worker, signal }, png, area)).filter(isCertain));
    }
    return mergeLines(lines, added);
  }
}

/** Starts tesseract.js. The language data is read from its package: nothing is downloaded or cached. */
async function startTesseract(language: string): Promise<Worker> {
  const { createWorker } = await import('tesseract.js');
  const worker = await createWorker(language, LSTM_ENGINE, {
    langPath: join(languageDataFolderOf(language), '4.0.0_best_int'),
    gzip: true,
    cacheMethod: 'none',
    errorHandler: () => undefined,
  });
  await worker.setParameters({ user_defined_dpi: ASSUMED_DPI });
  return worker;
}

/**
 * Reads a picture, or an area of it. Boxes are in pixels of the picture. An aborted call stops its worker. Nothing is
 * sent to a stopped worker, because that would be an error that nobody handles.
 * @param area undefined for the whole picture.
 */
async function readLines(
  { worker, signal }: { worker: Worker; signal: AbortSignal },
  png: Uint8Array,
  area?: BoundingBox,
): Promise<WordedLine[]> {
  signal.throwIfAborted();
  const part = area && { rectangle: { left: area.x, top: area.y, width: area.width, height: area.height } };
  const { data } = await worker.recognize(Buffer.from(png), { ...part }, { text: false, blocks: true });
  const lines = (data.blocks ?? []).flatMap(({ paragraphs }) => paragraphs).flatMap(({ lines }) => lines);
  return lines.map(({ words }) => joinWords(words.map(wordOf)));
}

function wordOf({ text, confidence, bbox: { x0, y0, x1, y1 } }: Word): TextLine {
  return {
    text: text.trim(),
    confidence: confidence / 100,
    ...{ x: x0, y: y0, width: x1 - x0, height: y1 - y0 },
  };
}
