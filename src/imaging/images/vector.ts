import { hash } from 'node:crypto';
import { LIMIT_PIXELS, type Pass } from '../../../workers/protocol.ts';
import type {
  DrawingSize,
  Rasterized,
  RasterizeResult,
  RasterizeTask,
} from '../../../workers/vector/protocol.ts';
import type { Clock } from '../../platform/clock.ts';
import { present } from '../../platform/values/present.ts';
import type { WaitingLimits } from './admission.ts';
import { type Deadline, deadlineOf } from './deadline.ts';
import { refusalOf, tookTooLong, tookTooLongBefore } from './failures.ts';
import { LATE_SECONDS, type LateWork } from './late-work.ts';
import type { ChildProcessOptions } from './pools/child-process.ts';
import { createChildProcessPool } from './pools/child-process-pool.ts';
import type { WorkerTime } from './pools/worker-time.ts';
import type { WorkClass } from './slots.ts';

export interface RasterizedDrawing extends Rasterized {
  /** RGBA, row by row, owning the whole of its memory. */
  pixels: Uint8Array<ArrayBuffer>;
  queueMs: number;
}

export interface DrawingRequest {
  bytes: Uint8Array;
  size: DrawingSize;
}

/** The account and the deadline of a drawing. */
interface DrawingCaller {
  accountId: string;
  work?: WorkClass | undefined;
  deadline: Pick<Deadline, 'signal' | 'waiting'>;
}

/** Draws SVG in a process of its own, one drawing at a time, accounts in turn. */
interface Rasterizer {
  /**
   * @throws unsupported_format when it is no drawing or too large; provider_unavailable (capacity, deadline_exceeded,
   * worker_unreachable); the signal's reason when it aborts.
   */
  draw(request: DrawingRequest, caller: DrawingCaller): Promise<RasterizedDrawing>;
  /** Waits for the drawings under way, then ends the process. */
  close(): Promise<void>;
}

interface RasterizerOptions {
  /** Time that one drawing may take. */
  timeoutMs: number;
  memoryMegabytes: number;
  limits: () => WaitingLimits;
  clock: Clock;
  lateWork: LateWork;
  workerTime: WorkerTime;
  /** Called when the process ends by itself. */
  onLost: (error: Error) => void;
  processCpuMs?: ChildProcessOptions['processCpuMs'];
}

/** Dots per inch that make a CSS pixel one pixel. */
const NATURAL_DENSITY = 96;
export const NATURAL_SIZE: DrawingSize = { density: NATURAL_DENSITY };
/** For what is measured, or made tiny: a drawing that is larger than any picture may be is drawn smaller. */
export const MEASURED_SIZE: DrawingSize = { density: NATURAL_DENSITY, mayShrink: true };
const VECTOR_PROCESS = new URL('../../../workers/vector/process.ts', import.meta.url);
const LOWEST_PRIORITY = 19;
const INSTEAD = { calls: [], words: 'a simpler drawing, or a smaller one' };
/** The message for a drawing that ended its process. */
const PROCESS_DIED_MESSAGE =
  'The drawing needs more memory than a drawing may take, or broke its reader; simplify it.';

/**
 * An SVG of 1 KB can burn a core for ever, and a thread inside librsvg cannot be stopped. So it is drawn in a child
 * process of the lowest priority and of bounded memory. Raster images never wait for it.
 */
export function createRasterizer(options: RasterizerOptions): Rasterizer {
  const { timeoutMs, memoryMegabytes, limits, clock, lateWork, workerTime, onLost, processCpuMs } = options;
  const processes = createChildProcessPool<RasterizeTask, RasterizeResult>({
    file: VECTOR_PROCESS,
    memoryMegabytes,
    niceness: LOWEST_PRIORITY,
    limits,
    givesWay: workerTime.isSpent,
    clock,
    onLost,
    processCpuMs,
    slots: 1,
    budgetBytes: 0,
    diedMessage: PROCESS_DIED_MESSAGE,
  });

  return {
    async draw({ bytes, size }, caller) {
      const { accountId, work = 'call', deadline } = caller;
      const nameOf = () => `drawing ${hash('sha256', bytes, 'base64')} ${JSON.stringify(size)}`;
      const waitSeconds = lateWork.waitSeconds(accountId, nameOf, bytes.length);
      if (waitSeconds > 0 && work === 'call') throw tookTooLongBefore(waitSeconds, INSTEAD);
      let drawing: Deadline | undefined;
      const took = (cpuMs: number) => {
        if (work === 'call') workerTime.spent(accountId, cpuMs);
        const time = { cpuMs, allowedMs: timeoutMs };
        if (drawing?.signal.aborted) lateWork.record(accountId, nameOf(), bytes.length, time);
      };
      const begin = async () => {
        const deadlineMs = clock.nowMs() + timeoutMs;
        const late = () => tookTooLong(LATE_SECONDS, INSTEAD);
        drawing = deadlineOf({ deadlineMs, client: deadline.signal, clock, late });
        // The input is transferred and then freed, and the caller still reads its file.
        const input = new Uint8Array(bytes);
        return { task: { input, size, limitPixels: LIMIT_PIXELS }, signal: drawing.signal };
      };
      try {
        const { reply, data, queueMs } = await processes.run({ ...caller, bytes: 0, begin, took });
        if (reply.kind === 'failure') throw refusalOf(reply);
        return { ...reply, pixels: data, queueMs };
      } finally {
        drawing?.end();
      }
    },
    close: processes.close,
  };
}

/**
 * How large a drawing is drawn for a pass: at the density that the pass names, else so that a resize at its start finds
 * at least as many pixels as it asks for. A drawing has no size of its own to lose sharpness against.
 */
export function drawingSizeOf({ decode, steps }: Pass): DrawingSize {
  if (decode.density !== undefined) return { density: decode.density };
  const first = steps.find((step) => step.operation !== 'autoOrient');
  if (first?.operation === 'placeholder') return MEASURED_SIZE;
  if (first?.operation !== 'resize') return NATURAL_SIZE;
  const { width, height } = first.params;
  return { atLeast: present({ width: pixels(width), height: pixels(height) }) };
}

function pixels(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
