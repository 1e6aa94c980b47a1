import { LIMIT_PIXELS } from '../../../workers/protocol.ts';
import type { Rasterized, RasterizeResult, RasterizeTask } from '../../../workers/vector/protocol.ts';
import type { Clock } from '../../platform/clock/clock.ts';
import type { WaitingLimits, WorkClass } from './admission.ts';
import { type Deadline, deadlineOf } from './deadline.ts';
import { deadlineExceeded, refusalOf } from './failures.ts';
import { createChildProcessPool, ProcessDeath, refusalOfDeath } from './pools/child-process-pool.ts';

export interface Drawing extends Rasterized {
  /** RGBA, row by row, owning the whole of its memory. */
  pixels: Uint8Array<ArrayBuffer>;
  queueMs: number;
}

export interface DrawingRequest extends Pick<RasterizeTask, 'density' | 'atLeast'> {
  bytes: Uint8Array;
}

/** For whom it is drawn. */
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
  draw(request: DrawingRequest, caller: DrawingCaller): Promise<Drawing>;
  /** Waits for the drawings under way, then ends the process. */
  close(): Promise<void>;
}

interface RasterizerOptions {
  /** Time that one drawing may take. */
  timeoutMs: number;
  memoryMegabytes: number;
  limits: () => WaitingLimits;
  clock: Clock;
  /** Called when the process ends by itself. */
  onLost: (error: Error) => void;
  processFile?: URL;
}

const VECTOR_PROCESS = new URL('../../../workers/vector/process.ts', import.meta.url);
const LOWEST_PRIORITY = 19;
/** Said of a drawing that ended its process. */
const PROCESS_DIED_MESSAGE =
  'The drawing needs more memory than a drawing may take, or broke its reader; simplify it.';

/**
 * An SVG of 1 KB can burn a core for ever, and a thread inside librsvg cannot be stopped. So it is drawn in a child
 * process of the lowest priority and of bounded memory. Raster images never wait for it.
 */
export function createRasterizer(options: RasterizerOptions): Rasterizer {
  const { timeoutMs, memoryMegabytes, limits, clock, onLost, processFile = VECTOR_PROCESS } = options;
  const processes = createChildProcessPool<RasterizeTask, RasterizeResult>({
    file: processFile,
    niceness: LOWEST_PRIORITY,
    slots: 1,
    budgetBytes: 0,
    memoryMegabytes,
    limits,
    clock,
    onLost,
  });
  const late = () => deadlineExceeded(processes.retryAfterSeconds());

  return {
    async draw({ bytes, ...size }, { accountId, work, deadline }) {
      let drawing: Deadline | undefined;
      const begin = async () => {
        const deadlineMs = clock.nowMs() + timeoutMs;
        drawing = deadlineOf({ deadlineMs, client: deadline.signal, clock, late });
        // Bytes that go to a process are handed over, and the caller still reads its file.
        const input = new Uint8Array(bytes);
        return { task: { input, ...size, limitPixels: LIMIT_PIXELS }, signal: drawing.signal };
      };
      try {
        const { reply, data, queueMs } = await processes.run({
          accountId,
          work,
          bytes: 0,
          deadline,
          begin,
        });
        if (reply.kind === 'failure') throw refusalOf(reply, (name) => name);
        return { ...reply, pixels: data, queueMs };
      } catch (error) {
        throw error instanceof ProcessDeath ? refusalOfDeath(error, PROCESS_DIED_MESSAGE) : error;
      } finally {
        drawing?.end();
      }
    },
    close: processes.close,
  };
}
