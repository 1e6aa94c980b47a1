import type { Size } from '../../../workers/formats/size.ts';
import type { BoundingBox, CodesResult, CodesTask } from '../../../workers/models/protocol.ts';
import type { PassWarning } from '../../../workers/protocol.ts';
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
import { medianOf } from './columns.ts';
import {
  areReadersInstalled,
  type CodesReading,
  confidentCharacterCount,
  MIN_SURE_CONFIDENCE,
  type PreparedPicture,
  type ReadingTask,
  type TextReading,
} from './reading.ts';
import { TextReader } from './text.ts';

const CODES_THREAD = new URL('../../../workers/models/codes.ts', import.meta.url);
const CODES_HEAP_MEGABYTES = 512;
/** The longest edge of a picture as it is read, in pixels. It limits the memory and the time of a reader. */
const MAX_READ_EDGE = 2_400;
/**
 * The smallest height of a line in pixels that is read reliably. A picture with lower lines is enlarged and read again.
 * Of 310 characters in a 10-pixel serif font, 95 are read wrong without enlargement, and 2 with it.
 */
const MIN_LINE_HEIGHT_PX = 24;
/** The height of a line in an enlarged picture. */
const GOOD_LINE_HEIGHT_PX = 40;
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
  readonly #codes = new OnDemandThread<CodesTask, CodesResult>(CODES_THREAD, CODES_HEAP_MEGABYTES);
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
    const late = () => readingTooSlowError(reading);
    const { signal: client, waitSignal } = call;
    const deadline = new CallDeadline({ deadlineMs, work, client, waitSignal, clock: systemClock, late });
    const { signal } = deadline;
    let slot: PoolSlot | undefined;
    try {
      parts.push({ ended: Promise.resolve(), waitedMs: () => deadline.waitedMs() });
      slot = await deadline.waitForSlot(queue.acquire({ accountId, work, bytes: 0, signal }));
      deadline.startWork(late);
      const beganMs = systemClock.elapsedMs();
      const picture = { png, width, height };
      const output =
        reading.kind === 'codes'
          ? await this.#readCodes(picture, original ?? picture, signal)
          : await this.#readText(call, picture, original ?? picture, reading.language, deadline);
      const readMs = systemClock.elapsedMs() - beganMs;
      const processMs = timings.decodeMs + timings.processMs + timings.encodeMs + readMs;
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
   * Reads text. If the confidence is low, the picture is turned by quarters and read again. If its lines are low and
   * there is time, it is enlarged and read again. The reading with the most confident characters counts.
   */
  async #readText(
    call: ReadCall,
    picture: PreparedPicture,
    original: Size,
    language: string,
    deadline: CallDeadline,
  ): Promise<TextReading> {
    const readChanged = async (change: PictureChange): Promise<TrialReading> => {
      const isAsPrepared = change.angle === 0 && change.width === undefined;
      const changed = isAsPrepared ? picture : await this.#changePicture(call, picture, change, deadline);
      const beganMs = systemClock.nowMs();
      const found = await this.#text.read(changed, language, deadline.signal);
      const lines = found.lines.map((line) => ({
        ...line,
        ...toOriginalBox(line, change.angle, changed, original),
      }));
      return {
        reading: { ...sizeOf(original), text: found.text, confidence: found.confidence, lines },
        lineHeightPx: medianOf(found.lines.map(({ height }) => height)),
        tookMs: systemClock.nowMs() - beganMs,
        change,
      };
    };
    const [angle, ...otherAngles] = READING_ANGLES;
    let best = await readChanged({ angle });
    let last = best;
    for (const other of otherAngles) {
      if (confidentCharacterCount(last.reading) > 0 && last.reading.confidence >= MIN_SURE_CONFIDENCE) break;
      last = await readChanged({ angle: other });
      best = moreConfident(best, last);
    }
    const scale = enlargementFor(best, picture);
    const isInTime = systemClock.nowMs() + scale ** 2 * best.tookMs < deadline.deadlineMs();
    if (scale <= 1 || !isInTime) return best.reading;
    const width = Math.round(scale * picture.width);
    return moreConfident(best, await readChanged({ ...best.change, width })).reading;
  }

  /** Turns or enlarges a prepared picture. */
  async #changePicture(
    { accountId, work, inBatch }: ReadCall,
    { png }: PreparedPicture,
    change: PictureChange,
    deadline: CallDeadline,
  ): Promise<PreparedPicture> {
    const terms = { accountId, deadlineMs: deadline.deadlineMs(), signal: deadline.signal };
    const kind = { ...(work && { work }), ...(inBatch && { inBatch }) };
    const pass = preparationPass(change);
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

/** How a picture is changed before it is read. */
interface PictureChange {
  angle: ReadingAngle;
  /**
   * The width to which the picture is enlarged before it is turned, in pixels. Absent if the picture is not enlarged.
   */
  width?: number;
}

/** A reading of a changed picture, and the height of the lines in pixels of that picture; 0 if there are no lines. */
interface TrialReading {
  reading: TextReading;
  lineHeightPx: number;
  tookMs: number;
  change: PictureChange;
}

function moreConfident(one: TrialReading, other: TrialReading): TrialReading {
  return confidentCharacterCount(other.reading) > confidentCharacterCount(one.reading) ? other : one;
}

/**
 * The factor by which a picture with low lines is enlarged before it is read again. It is at most 1 if the picture
 * needs no enlargement.
 */
function enlargementFor({ lineHeightPx }: TrialReading, { width, height }: Size): number {
  if (lineHeightPx === 0 || lineHeightPx >= MIN_LINE_HEIGHT_PX) return 1;
  return Math.min(GOOD_LINE_HEIGHT_PX / lineHeightPx, MAX_READ_EDGE / Math.max(width, height));
}

/** The pass that prepares a picture for a reader: upright, on white, and no larger than the reader takes. */
function preparationPass({ angle, width }: PictureChange) {
  const box = { width: MAX_READ_EDGE, height: MAX_READ_EDGE, fit: 'inside' };
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
 * Converts a box of a turned and scaled picture to the original picture.
 * @param read the size of the picture that was read.
 * @param original the size of the picture before it was turned and scaled.
 */
function toOriginalBox(box: BoundingBox, angle: ReadingAngle, read: Size, original: Size): BoundingBox {
  const turned = turnBoxBack(box, angle, read);
  const upright = angle === 90 || angle === 270 ? { width: read.height, height: read.width } : read;
  const [byX, byY] = [original.width / upright.width, original.height / upright.height];
  const [left, top] = [Math.floor(turned.x * byX), Math.floor(turned.y * byY)];
  return {
    x: left,
    y: top,
    width: Math.min(original.width, Math.ceil((turned.x + turned.width) * byX)) - left,
    height: Math.min(original.height, Math.ceil((turned.y + turned.height) * byY)) - top,
  };
}

function turnBoxBack({ x, y, width, height }: BoundingBox, angle: ReadingAngle, read: Size): BoundingBox {
  switch (angle) {
    case 0:
      return { x, y, width, height };
    case 90:
      return { x: y, y: read.width - x - width, width: height, height: width };
    case 180:
      return { x: read.width - x - width, y: read.height - y - height, width, height };
    case 270:
      return { x: read.height - y - height, y: x, width: height, height: width };
  }
}
