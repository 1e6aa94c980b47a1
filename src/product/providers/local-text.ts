import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Worker } from 'tesseract.js';
import type { Box } from '../../../workers/models/protocol.ts';

/** The text that was found in a picture. Confidences are 0 to 1, as reported by the reader. */
interface TextRead {
  text: string;
  confidence: number;
  lines: (Box & { text: string; confidence: number })[];
}

const LANGUAGE = 'eng';
/** The LSTM engine only, because the package has language data for it. */
const NEURAL = 1;
const IDLE_MS = 60_000;
/** Few pictures contain their density, and the reader would print a warning for each of the others. */
const ASSUMED_DPI = '150';

/**
 * Reads text with tesseract.js in its own thread, which is started for the first picture and ended after an idle time.
 * It reads one picture at a time. max_input_edge limits the picture, and so the memory of the thread.
 */
export class TextReader {
  #worker: Promise<Worker> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #idle: NodeJS.Timeout | undefined;

  /** Rejects with the signal's reason when it aborts: the thread is then ended. */
  read(picture: Uint8Array, signal: AbortSignal): Promise<TextRead> {
    const turn = this.#last.then(() => this.#recognise(picture, signal));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const stopped = this.#worker;
    this.#worker = undefined;
    await stopped?.then(
      (one) => one.terminate(),
      () => undefined,
    );
  }

  async #recognise(picture: Uint8Array, signal: AbortSignal): Promise<TextRead> {
    signal.throwIfAborted();
    clearTimeout(this.#idle);
    this.#worker ??= start();
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await Promise.race([readBy(await this.#worker, picture), aborted]);
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
      this.#idle = setTimeout(() => void this.close(), IDLE_MS);
      this.#idle.unref();
    }
  }
}

/** The language data is read from its package: nothing is downloaded, and nothing is cached elsewhere. */
async function start(): Promise<Worker> {
  const { createWorker } = await import('tesseract.js');
  const data = dirname(fileURLToPath(import.meta.resolve('@tesseract.js-data/eng/package.json')));
  const worker = await createWorker(LANGUAGE, NEURAL, {
    langPath: join(data, '4.0.0_best_int'),
    gzip: true,
    cacheMethod: 'none',
    errorHandler: () => undefined,
  });
  await worker.setParameters({ user_defined_dpi: ASSUMED_DPI });
  return worker;
}

async function readBy(worker: Worker, picture: Uint8Array): Promise<TextRead> {
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
