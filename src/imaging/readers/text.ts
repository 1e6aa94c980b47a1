import { join } from 'node:path';
import type { PSM, Worker } from 'tesseract.js';
import { languageFolder, type TextReading } from './reading.ts';

/** The LSTM engine. The packages have language data for no other engine. */
const NEURAL = 1;
const IDLE_MS = 60_000;
/** Assumed density. Few pictures state theirs, and the reader would print a warning for all others. */
const ASSUMED_DPI = '150';
/** A page as one column of text of any sizes: a heading and the text below it, a row of a table as one line. */
const COLUMN = '4' as PSM;
/** A page as one block of text of one size. */
const BLOCK = '6' as PSM;
/** Text found as one block is at least so sure. What is found in photographs is below. */
const MIN_BLOCK_CONFIDENCE = 0.4;

type FoundText = Pick<TextReading, 'text' | 'confidence' | 'lines'>;

/**
 * Reads text with tesseract.js in its own thread. The thread is started for the first picture and ended after an idle
 * time. It reads one picture at a time; callers must wait for the reading before. The size of the picture limits the
 * memory of the thread.
 */
export class TextReader {
  #thread: { language: string; worker: Promise<Worker> } | null = null;
  #idle: NodeJS.Timeout | undefined;

  /** Reads text. Rejects with the signal's reason when the signal aborts; the thread is then ended. */
  async read(picture: Uint8Array, language: string, signal: AbortSignal): Promise<FoundText> {
    signal.throwIfAborted();
    clearTimeout(this.#idle);
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await Promise.race([this.#recognise(picture, language), aborted]);
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
      this.#idle = setTimeout(() => void this.close(), IDLE_MS);
      this.#idle.unref();
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const stopped = this.#thread;
    this.#thread = null;
    await stopped?.worker.then(
      (worker) => worker.terminate(),
      () => undefined,
    );
  }

  async #recognise(picture: Uint8Array, language: string): Promise<FoundText> {
    if (this.#thread?.language !== language) await this.close();
    this.#thread ??= { language, worker: start(language) };
    return readBy(await this.#thread.worker, picture);
  }
}

/** Starts a reader. The language data is read from its package: nothing is downloaded or cached. */
async function start(language: string): Promise<Worker> {
  const { createWorker } = await import('tesseract.js');
  const worker = await createWorker(language, NEURAL, {
    langPath: join(languageFolder(language), '4.0.0_best_int'),
    gzip: true,
    cacheMethod: 'none',
    errorHandler: () => undefined,
  });
  await worker.setParameters({ user_defined_dpi: ASSUMED_DPI });
  return worker;
}

/**
 * Reads a picture as a column. This finds no single letter, and no text on a photograph. A picture without lines is
 * therefore read again as a block.
 */
async function readBy(worker: Worker, picture: Uint8Array): Promise<FoundText> {
  const column = await readAs(COLUMN, worker, picture);
  if (column.lines.length > 0) return column;
  const block = await readAs(BLOCK, worker, picture);
  return block.confidence < MIN_BLOCK_CONFIDENCE ? { text: '', confidence: 0, lines: [] } : block;
}

async function readAs(layout: PSM, worker: Worker, picture: Uint8Array): Promise<FoundText> {
  await worker.setParameters({ tessedit_pageseg_mode: layout });
  const { data } = await worker.recognize(Buffer.from(picture), {}, { text: true, blocks: true });
  const lines = (data.blocks ?? []).flatMap(({ paragraphs }) => paragraphs).flatMap(({ lines }) => lines);
  return {
    text: data.text.trim(),
    confidence: data.confidence / 100,
    lines: lines.map(({ text, confidence, bbox: { x0, y0, x1, y1 } }) => ({
      text: text.trim(),
      confidence: confidence / 100,
      ...{ x: x0, y: y0, width: x1 - x0, height: y1 - y0 },
    })),
  };
}
