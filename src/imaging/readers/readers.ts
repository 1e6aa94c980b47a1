import type { Size } from '../../../workers/formats/size.ts';
import type { BoundingBox, CodesTask, ReadCodesResult } from '../../../workers/models/protocol.ts';
import { type PassWarning, totalMsOf } from '../../../workers/protocol.ts';
import { systemClock } from '../../platform/clock.ts';
import { OnDemandThread } from '../../platform/concurrency/thread.ts';
import { ApiError, temporarilyUnavailableError } from '../../platform/http/errors/errors.ts';
import { AdmissionQueue } from '../images/admission.ts';
import { CallDeadline } from '../images/deadline.ts';
import { displayedSizeOf } from '../images/estimates/prediction.ts';
import { poolFullError } from '../images/failures.ts';
import { readImageHeader } from '../images/header/header.ts';
import { type ImageCall, isStoredFile, type RunningCall, type WithQueueTime } from '../images/image-call.ts';
import type { ImageWorkers } from '../images/image-workers.ts';
import type { PoolSlot } from '../images/slots.ts';
import { medianOf, orderByColumns } from './columns.ts';
import {
  confidenceOf,
  confidentCharacterCount,
  joinReadings,
  MIN_LINE_CONFIDENCE,
  MIN_SURE_CONFIDENCE,
  scaleLine,
  type WordedLine,
} from './lines.ts';
import {
  areReadersInstalled,
  type CodesReading,
  type PreparedPicture,
  type ReadingTask,
  type TextReading,
} from './reading.ts';
import { TextReader } from './text.ts';

const CODES_THREAD_FILE = new URL('../../../workers/models/codes.ts', import.meta.url);
const CODES_HEAP_MEGABYTES = 512;
/** The longest edge of a picture as it is read, in pixels. It limits the memory and the time of a reader. */
const MAX_READ_EDGE_PX = 2_400;
/**
 * The height of a line in pixels that is read best, to which a picture is scaled for its second reading. Of 516 words
 * on 17 invoices, receipts and screenshots, 35 are read wrong at their own size, and 11 at about this height.
 */
const BEST_LINE_HEIGHT_PX = 36;
/** The largest scale of the second reading. Letters that need more are too blurred to be read. */
const MAX_READING_SCALE = 3;
/** The smallest change of the scale by which a second reading differs from the first one. */
const MIN_RESCALING_FACTOR = 1.25;
/** The number of calls that may wait for a reader. Jobs wait without a limit. */
const MAX_WAITING_CALLS = 16;
const BUSY_RETRY_SECONDS = 5;

interface ReadCall extends ImageCall {
  reading: ReadingTask;
}

export interface ReadingResult extends WithQueueTime {
  output: TextReading | CodesReading;
  /** Warnings about frames or pages that were not read. */
  warnings: PassWarning[];
  /**
   * The times of the reading. `processMs` is the sum of the time in the image worker and in the reader, without
   * waiting.
   */
  timings: { processMs: number };
}

/**
 * Reads text and codes from pictures on this machine. Each kind of reading has one thread, which reads one picture at a
 * time. Accounts take turns, and calls come before jobs.
 */
export class Readers {
  readonly #imageWorkers: ImageWorkers;
  readonly #text = new TextReader();
  readonly #codes = new OnDemandThread<CodesTask, ReadCodesResult>(CODES_THREAD_FILE, CODES_HEAP_MEGABYTES);
  readonly #queues = { text: createReaderQueue(), codes: createReaderQueue() };

  constructor(imageWorkers: ImageWorkers) {
    this.#imageWorkers = imageWorkers;
  }

  /**
   * Reads the first frame of a picture. Boxes are in pixels of the picture as displayed. Boxes of a vector drawing are
   * in pixels of the drawing as it was read, whose size is in the result.
   */
  read(call: ReadCall): RunningCall<ReadingResult> {
    const parts: ReadingPart[] = [];
    const result = this.#read(call, parts);
    const ended = Promise.allSettled([result]).then(() => Promise.all(parts.map((part) => part.ended)));
    return { result, ended, waitedMs: () => parts.reduce((sum, part) => sum + part.waitedMs(), 0) };
  }

  async close(): Promise<void> {
    await Promise.all([this.#text.close(), this.#codes.close()]);
  }

  /**
   * @param parts receives the parts of the work, whose waits and ends are reported.
   */
  async #read(call: ReadCall, parts: ReadingPart[]): Promise<ReadingResult> {
    const { reading, accountId, work } = call;
    if (!areReadersInstalled())
      throw new ApiError('service_misconfigured', 'The packages that read text and codes are not installed.');
    const queue = this.#queues[reading.kind];
    if (work !== 'job' && queue.stats().waiting >= MAX_WAITING_CALLS) throw poolFullError(BUSY_RETRY_SECONDS);
    const allowedMs = call.deadlineMs - systemClock.nowMs();
    const original = displayedSize(call);
    const preparation = this.#imageWorkers.transform({ ...call, pass: preparationPass({ angle: 0 }) });
    parts.push(preparation);
    const { data: png, width, height, queueMs, timings, warnings = [] } = await preparation.result;
    // The deadline of a job does not count its waits, so its reading gets the whole time.
    const deadlineMs = work === 'job' ? systemClock.nowMs() + allowedMs : call.deadlineMs;
    const createDeadlineError = () => readingTooSlowError(reading);
    const { signal: client, waitSignal } = call;
    const deadline = new CallDeadline({
      deadlineMs,
      work,
      client,
      waitSignal,
      clock: systemClock,
      createWaitError: createDeadlineError,
    });
    const { signal } = deadline;
    let slot: PoolSlot | undefined;
    try {
      parts.push({ ended: Promise.resolve(), waitedMs: () => deadline.waitedMs() });
      slot = await deadline.waitForSlot(queue.acquire({ accountId, work, bytes: 0, signal }));
      deadline.startWork(createDeadlineError);
      const beganMs = systemClock.elapsedMs();
      const picture = { png, width, height };
      const output =
        reading.kind === 'codes'
          ? await this.#readCodes(picture, original ?? picture, signal)
          : await this.#readText(call, picture, original ?? picture, reading.language, deadline);
      const readMs = systemClock.elapsedMs() - beganMs;
      const processMs = totalMsOf(timings) + readMs;
      const unread = warnings.filter(({ code }) => code === 'frames_lost' || code === 'pages_lost');
      return { output, warnings: unread, queueMs: queueMs + slot.queueMs, timings: { processMs } };
    } finally {
      slot?.release();
      deadline.end();
    }
  }

  async #readCodes(
    { png, ...read }: PreparedPicture,
    original: Size,
    signal: AbortSignal,
  ): Promise<CodesReading> {
    const { codes } = await this.#codes.run({ picture: png }, signal);
    const placed = codes.map((code) => ({ ...code, ...toOriginalBox(code, 0, read, original) }));
    return { ...sizeOf(original), codes: placed.sort((one, other) => one.y - other.y || one.x - other.x) };
  }

  /**
   * Reads text. If the confidence is low, the picture is turned by quarters and read again. If there is time, the best
   * reading is compared with one at another scale.
   */
  async #readText(
    call: ReadCall,
    picture: PreparedPicture,
    original: Size,
    language: string,
    deadline: CallDeadline,
  ): Promise<TextReading> {
    const read = async (change: PictureTransform): Promise<WordedLine[]> => {
      const isAsPrepared = change.angle === 0 && change.scale === 1;
      const changed = isAsPrepared ? picture : await this.#changePicture(call, picture, change, deadline);
      return this.#text.read(changed, language, deadline.signal);
    };
    const readTurned = async (angle: ReadingAngle): Promise<TurnedReading> => {
      const beganMs = systemClock.nowMs();
      const lines = await read({ angle, scale: 1 });
      return { angle, lines, tookMs: systemClock.nowMs() - beganMs };
    };
    const [asPrepared, ...otherAngles] = READING_ANGLES;
    let best = await readTurned(asPrepared);
    let last = best;
    for (const other of otherAngles) {
      if (confidenceOf(last.lines) >= MIN_SURE_CONFIDENCE) break;
      last = await readTurned(other);
      if (confidentCharacterCount(last.lines) > confidentCharacterCount(best.lines)) best = last;
    }
    const { angle, lines, tookMs } = best;
    const scale = secondReadingScaleFor(lines, picture);
    const isInTime = systemClock.nowMs() + scale ** 2 * tookMs < deadline.deadlineMs();
    const secondLines = lines.length > 0 && isInTime ? await read({ angle, scale }) : [];
    const joined = joinReadings(
      lines,
      secondLines.map((line) => scaleLine(line, 1 / scale)),
    ).filter((line) => confidenceOf([line]) >= MIN_LINE_CONFIDENCE);
    const placed = orderByColumns(joined).map(({ words: _, ...line }) => ({
      ...line,
      ...toOriginalBox(line, angle, picture, original),
    }));
    const text = placed.map((line) => line.text).join('\n');
    return { ...sizeOf(original), text, confidence: confidenceOf(joined), lines: placed };
  }

  /** Turns a prepared picture, or changes its scale. */
  async #changePicture(
    { accountId, work, inBatch }: ReadCall,
    { png, width: before }: PreparedPicture,
    { angle, scale }: PictureTransform,
    deadline: CallDeadline,
  ): Promise<PreparedPicture> {
    const terms = { accountId, deadlineMs: deadline.deadlineMs(), signal: deadline.signal };
    const kind = { ...(work && { work }), ...(inBatch && { inBatch }) };
    const pass = preparationPass({ angle, width: Math.round(scale * before) });
    const { result } = this.#imageWorkers.transform({ bytes: png.slice(), pass, ...terms, ...kind });
    const { data, width, height } = await result;
    return { png: data, width, height };
  }
}

type ReadingPart = Pick<RunningCall<unknown>, 'ended' | 'waitedMs'>;

/** The queue of a thread that reads one picture at a time. */
function createReaderQueue(): AdmissionQueue {
  const limits = () => ({ calls: Number.POSITIVE_INFINITY });
  return new AdmissionQueue({ slots: 1, budgetBytes: 0, limits, clock: systemClock });
}

/** How a picture is changed before it is read: first its scale, then its angle. */
interface PictureTransform {
  angle: ReadingAngle;
  scale: number;
}

/** The lines of a picture that was turned by an angle. */
interface TurnedReading {
  angle: ReadingAngle;
  lines: WordedLine[];
  tookMs: number;
}

/**
 * The scale of the second reading, at which lines get a good height. Lines that have it already are read at a larger
 * scale, or at a smaller one if the picture is as large as the reader takes: a misread word is usually read in another
 * way at another scale.
 */
function secondReadingScaleFor(lines: readonly WordedLine[], { width, height }: Size): number {
  const best = BEST_LINE_HEIGHT_PX / medianOf(lines.map((line) => line.height));
  const largest = Math.min(MAX_READING_SCALE, MAX_READ_EDGE_PX / Math.max(width, height));
  const isOther = (scale: number) => scale <= largest && Math.max(scale, 1 / scale) >= MIN_RESCALING_FACTOR;
  return [Math.min(best, largest), MIN_RESCALING_FACTOR].find(isOther) ?? 1 / MIN_RESCALING_FACTOR;
}

/** The pass that prepares a picture for a reader: upright, on white, and no larger than the reader takes. */
function preparationPass({ angle, width }: { angle: ReadingAngle; width?: number }) {
  const box = { width: MAX_READ_EDGE_PX, height: MAX_READ_EDGE_PX, fit: 'inside' };
  return {
    decode: {},
    steps: [
      { operation: 'resize', params: width === undefined ? box : { width, enlarge: true } },
      { operation: 'flatten', params: { background: '#ffffff' } },
      ...(angle === 0 ? [] : [{ operation: 'rotate', params: { angle } }]),
    ],
    encode: { format: 'png' as const, effort: 1, metadata: 'strip' as const },
  };
}

/** The size of a picture after its orientation; undefined for a vector drawing, which has no pixels yet. */
function displayedSize({ bytes, header: known }: ImageCall): Size | undefined {
  if (isStoredFile(bytes)) return bytes.facts.format === 'svg' ? undefined : sizeOf(bytes.facts);
  const header = known ?? readImageHeader(bytes);
  return header === null || header.format === 'svg' ? undefined : displayedSizeOf(header);
}

function sizeOf({ width, height }: Size): Size {
  return { width, height };
}

function readingTooSlowError({ kind }: ReadingTask): ApiError {
  const message = `The picture was not read in time: send a smaller part of it, or send it as a job of the op read_${kind}, which has more time.`;
  return temporarilyUnavailableError('deadline_exceeded', message, BUSY_RETRY_SECONDS);
}

/** The angles by which a picture is turned before it is read, clockwise, in degrees. */
const READING_ANGLES = [0, 90, 270, 180] as const;
type ReadingAngle = (typeof READING_ANGLES)[number];

/**
 * Converts a box of a picture that was scaled, and then turned, to the original picture.
 * @param scaled the size of the picture before it was turned.
 * @param original the size of the picture before it was scaled.
 */
function toOriginalBox(box: BoundingBox, angle: ReadingAngle, scaled: Size, original: Size): BoundingBox {
  const turned = turnBoxBack(box, angle, scaled);
  const [byX, byY] = [original.width / scaled.width, original.height / scaled.height];
  const [left, top] = [Math.floor(turned.x * byX), Math.floor(turned.y * byY)];
  return {
    x: left,
    y: top,
    width: Math.min(original.width, Math.ceil((turned.x + turned.width) * byX)) - left,
    height: Math.min(original.height, Math.ceil((turned.y + turned.height) * byY)) - top,
  };
}

function turnBoxBack({ x, y, width, height }: BoundingBox, angle: ReadingAngle, scaled: Size): BoundingBox {
  switch (angle) {
    case 0:
      return { x, y, width, height };
    case 90:
      return { x: y, y: scaled.height - x - width, width: height, height: width };
    case 180:
      return { x: scaled.width - x - width, y: scaled.height - y - height, width, height };
    case 270:
      return { x: scaled.width - y - height, y: x, width: height, height: width };
  }
}
