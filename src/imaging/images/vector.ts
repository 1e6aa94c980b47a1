import { hash } from 'node:crypto';
import {
  type ImagePass,
  MAX_PIXELS,
  type PassTimings,
  sumTimings,
  totalMsOf,
} from '../../../workers/protocol.ts';
import type {
  RasterizedPixels,
  RasterizeResult,
  RasterizeTask,
  RequestedDrawingSize,
} from '../../../workers/vector/protocol.ts';
import type { Clock } from '../../platform/clock.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import type { CallDeadline } from './deadline.ts';
import { apiErrorOfFailure, isLateError, type WorkTime } from './failures.ts';
import {
  type BranchCall,
  type BranchResult,
  isStoredFile,
  type RunningCall,
  type TransformCall,
  type TransformResult,
} from './image-call.ts';
import { ChildProcesses, type TaskProcessOptions } from './pools/child-processes.ts';
import { type LateWork, lateWorkError } from './pools/late-work.ts';
import { WorkerPool } from './pools/pool.ts';
import type { AccountWorkerTime } from './pools/work-history.ts';
import type { WaitingLimits, WorkClass } from './slots.ts';

/** The time for which a drawing waited for the rasterizer, and the time that it then took, in milliseconds. */
interface DrawingTimes {
  queueMs: number;
  drawnMs: number;
}

export interface RasterizedDrawing extends RasterizedPixels, DrawingTimes {}

interface DrawingRequest {
  bytes: Uint8Array;
  size: RequestedDrawingSize;
  /** The field of the call that brought the drawing, if it is a second picture. */
  param?: string | undefined;
}

/** The account and the deadline of a drawing. */
interface DrawingCaller {
  accountId: string;
  work?: WorkClass | undefined;
  deadline: Pick<CallDeadline, 'signal' | 'waitForSlot'>;
}

interface RasterizerOptions {
  /** The milliseconds that one drawing may take. */
  timeoutMs: number;
  memoryMegabytes: number;
  limits: () => WaitingLimits;
  clock: Clock;
  lateWork: LateWork;
  workerTime: AccountWorkerTime;
  /** Called when the process ends by itself. */
  onLost: (error: Error) => void;
  processCpuMs?: TaskProcessOptions['processCpuMs'];
}

/** The density in dots per inch at which a CSS pixel is one pixel. */
const NATURAL_DENSITY = 96;
export const NATURAL_DRAWING_SIZE: RequestedDrawingSize = { density: NATURAL_DENSITY };
/**
 * The drawing size for work that only measures a drawing or makes a tiny picture. A drawing above the pixel limit is
 * drawn smaller.
 */
export const MEASURING_DRAWING_SIZE: RequestedDrawingSize = { density: NATURAL_DENSITY, mayShrink: true };
const VECTOR_PROCESS_FILE = new URL('../../../workers/vector/process.ts', import.meta.url);
/**
 * The niceness of the process. At this priority, it gets a tenth of a core for which others compete, and all of an idle
 * core. With less, it would hardly start on a busy host.
 */
const DRAWING_NICENESS = 10;
const DRAWING_ALTERNATIVES = { calls: [], words: 'a simpler drawing, or a smaller one' };
/** The message for a drawing that crashed its process. */
const PROCESS_DIED_MESSAGE =
  'The drawing needs more memory than a drawing may take, or broke its reader; simplify it.';

/**
 * Draws SVG in a separate process, one drawing at a time. Accounts are served in turn. An SVG of 1 KB can occupy a core
 * without end, and a thread inside librsvg cannot be stopped. Each drawing therefore runs in a child process of a low
 * priority and with bounded memory. Raster images never wait for it.
 */
export class Rasterizer {
  readonly #options: RasterizerOptions;
  readonly #pool: WorkerPool<RasterizeTask, RasterizeResult>;

  constructor(options: RasterizerOptions) {
    const { memoryMegabytes, limits, clock, workerTime, onLost, processCpuMs } = options;
    this.#options = options;
    const processes = new ChildProcesses<RasterizeTask, RasterizeResult>({
      ...{
        file: VECTOR_PROCESS_FILE,
        memoryMegabytes,
        niceness: DRAWING_NICENESS,
        clock,
        onLost,
        processCpuMs,
      },
      deathResult: { kind: 'failure', code: 'unsupported_format', message: PROCESS_DIED_MESSAGE },
    });
    const mustYield = workerTime.mustYield;
    this.#pool = new WorkerPool({ slots: 1, budgetBytes: 0, limits, mustYield, clock }, processes);
  }

  /**
   * Draws an SVG.
   * @throws unsupported_format when the file is no drawing or is too large; provider_unavailable (capacity,
   *   deadline_exceeded, worker_unreachable); the signal's reason when it aborts.
   */
  async draw({ bytes, size, param }: DrawingRequest, caller: DrawingCaller): Promise<RasterizedDrawing> {
    const { accountId, work = 'call' } = caller;
    const { clock, timeoutMs, lateWork, workerTime } = this.#options;
    const nameOf = () => `drawing ${hash('sha256', bytes, 'base64')} ${JSON.stringify(size)}`;
    const retryAfterSeconds = lateWork.secondsUntilAllowed(accountId, nameOf, bytes.length);
    if (retryAfterSeconds > 0 && work === 'call')
      throw lateWork.refusal(accountId, retryAfterSeconds, DRAWING_ALTERNATIVES);
    const ending = new AbortController();
    const lateError = (time: WorkTime) =>
      lateWorkError(time, this.#pool.admission.retryAfterSeconds(), () => DRAWING_ALTERNATIVES);
    let cancelEnd = () => {};
    // The limit on the time of a drawing does not include the wait for the process or its start, which only the
    // caller's deadline limits.
    const deadline = {
      signal: AbortSignal.any([caller.deadline.signal, ending.signal]),
      deadlineMs: () => clock.nowMs() + timeoutMs,
      recordWorkerStart: (workCpuMs: () => number | null) => {
        const end = () => ending.abort(lateError({ cpuMs: workCpuMs() ?? timeoutMs, allowedMs: timeoutMs }));
        cancelEnd = clock.after(timeoutMs, end);
      },
      waitForSlot: <T>(slot: Promise<T>) => caller.deadline.waitForSlot(slot),
    };
    // The input is transferred and then freed, so the task gets a copy: the caller still reads its file.
    const makeTask = () => ({ input: new Uint8Array(bytes), size, maxPixels: MAX_PIXELS });
    try {
      const call = { accountId, work, bytes: 0, deadline };
      const { queueMs, result, ended, busyMs } = await this.#pool.start(call, makeTask);
      const startedMs = performance.now();
      const recorded = Promise.all([ended, busyMs]).then(([outcome, cpuMs]) => {
        if (cpuMs === null) return;
        if (work === 'call') workerTime.recordCpuTime(accountId, cpuMs);
        const time = { cpuMs, allowedMs: timeoutMs };
        if (outcome === 'abandoned') lateWork.record(accountId, nameOf(), bytes.length, time);
      });
      const drawn = await result.finally(() => recorded);
      if (drawn.kind === 'failure') throw apiErrorOfFailure({ ...drawn, ...withoutAbsentFields({ param }) });
      return { ...drawn, queueMs, drawnMs: performance.now() - startedMs };
    } finally {
      cancelEnd();
    }
  }

  /** Waits for the drawings in progress, then ends the process. */
  close(): Promise<void> {
    return this.#pool.close();
  }
}

/**
 * The size at which a vector drawing is drawn for a pass: at the density that the pass names, otherwise large enough
 * for a resize in its first step. A drawing is drawn from its shapes, so a larger size loses no sharpness.
 */
export function drawingSizeForPass({ decode, steps }: ImagePass): RequestedDrawingSize {
  if (decode.density !== undefined) return { density: decode.density };
  const first = steps.find((step) => step.operation !== 'autoOrient');
  if (first?.operation === 'placeholder') return MEASURING_DRAWING_SIZE;
  if (first?.operation !== 'resize') return NATURAL_DRAWING_SIZE;
  const { width, height } = first.params;
  return {
    atLeast: withoutAbsentFields({ width: numberOrUndefined(width), height: numberOrUndefined(height) }),
  };
}

function numberOrUndefined(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** Runs passes over a vector drawing one after another, because each pass needs the drawing in a different size. */
export function runPassesOverDrawing(
  { branches, asJobs: _, ...call }: BranchCall,
  transform: (call: TransformCall) => RunningCall<TransformResult>,
): RunningCall<BranchResult> {
  const startedPasses: RunningCall<TransformResult>[] = [];
  const drawAll = async () => {
    const outputs: (TransformResult | ApiError)[] = [];
    for (const branch of branches) {
      const work = transform({ ...call, ...branch, ...copyFilesOf(call) });
      startedPasses.push(work);
      outputs.push(await work.result.catch(requireOutputError));
    }
    return joinOutputs(outputs);
  };
  const result = drawAll();
  const ended = Promise.allSettled([result]).then(() => Promise.all(startedPasses.map((work) => work.ended)));
  return { result, ended, waitedMs: () => startedPasses.reduce((sum, work) => sum + work.waitedMs(), 0) };
}

/** Copies the files of a call for one piece of work, because the bytes are transferred to its worker. */
function copyFilesOf({ bytes, layers }: Pick<BranchCall, 'bytes' | 'layers'>) {
  const copyOf = (file: BranchCall['bytes']) => (isStoredFile(file) ? file : new Uint8Array(file));
  const copies = Object.entries(layers ?? {}).map(([id, layer]) => [
    id,
    { ...layer, bytes: copyOf(layer.bytes) },
  ]);
  return { bytes: copyOf(bytes), ...(layers !== undefined && { layers: Object.fromEntries(copies) }) };
}

/**
 * Returns an error that concerns one output only, even if the output was late. Throws an error that concerns the whole
 * call.
 */
function requireOutputError(error: unknown): ApiError {
  if (error instanceof ApiError && (error.status < 500 || isLateError(error))) return error;
  throw error;
}

/** Joins the results of several passes to one result. */
function joinOutputs(outputs: (TransformResult | ApiError)[]): BranchResult {
  const made = outputs.filter((output): output is TransformResult => !(output instanceof ApiError));
  return {
    outputs,
    timings: sumTimings(made.map(({ timings }) => timings)),
    queueMs: made.reduce((sum, { queueMs }) => sum + queueMs, 0),
  };
}

/**
 * Completes the timings of a result: adds the time to draw vector drawings to the decode time, and the time to start a
 * child process to the queue time.
 * @param elapsedMs from the sending of the task to its result.
 */
export function withCompleteTimings<T extends { timings: PassTimings }>(
  result: T,
  { queueMs, elapsedMs }: { queueMs: number; elapsedMs: number },
  drawing: DrawingTimes,
): T & { queueMs: number } {
  const { timings } = result;
  const startMs = Math.max(0, elapsedMs - totalMsOf(timings));
  return {
    ...result,
    timings: { ...timings, decodeMs: timings.decodeMs + drawing.drawnMs },
    queueMs: queueMs + startMs + drawing.queueMs,
  };
}
