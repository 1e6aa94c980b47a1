import type { Clock } from '../../../platform/clock.ts';
import { MEGABYTE } from '../../../platform/values/units.ts';
import { Admission, type WaitingLimits } from '../admission.ts';
import type { Deadline } from '../deadline.ts';
import { unsupportedFormat, workerUnreachable } from '../failures.ts';
import type { SlotRequest } from '../slots.ts';
import {
  type ChildProcessOptions,
  ProcessDeath,
  startTaskProcess,
  type TaskProcess,
} from './child-process.ts';

export interface PoolOptions {
  slots: number;
  budgetBytes: number;
  limits: () => WaitingLimits;
  /** Whether an account gets only slots that no other account waits for. Absent: none does. */
  givesWay?: (accountId: string) => boolean;
  clock: Clock;
  /** Called when a worker ends by itself. */
  onLost: (error: Error) => void;
}

interface ChildProcessPoolOptions extends PoolOptions, ChildProcessOptions {
  /** The message where the task itself ended its process: the same call would do it again. */
  diedMessage: string;
}

/** Work for a process that can be killed. */
interface ChildProcessCall<Task, Reply> extends Omit<SlotRequest, 'signal'> {
  deadline: Pick<Deadline, 'signal' | 'waiting'>;
  /** Called when the call has its slot. The signal ends the work: the process is killed. */
  begin(): Promise<{ task: Task; signal: AbortSignal }>;
  /** Called with the CPU time of the work in milliseconds, and with its reply where there is one. */
  took(cpuMs: number, reply?: Reply): void;
}

interface ChildProcessResult<Reply> {
  reply: Reply;
  /** Owns the whole of its memory. */
  data: Uint8Array<ArrayBuffer>;
  queueMs: number;
}

/** A few slots for work that nothing stops but a kill, each with a process of its own. */
interface ChildProcessPool<Task, Reply> extends Pick<Admission, 'stats' | 'retryAfterSeconds' | 'expect'> {
  /**
   * Settles when the work has really ended: its slot is free again, and a killed process is gone.
   * @throws provider_unavailable, unsupported_format; the reason of the signal that ended the waiting or the work.
   */
  run(call: ChildProcessCall<Task, Reply>): Promise<ChildProcessResult<Reply>>;
  /**
   * Changes the number of slots and the memory for all of them; a surplus process ends when it has been idle for a
   * while.
   */
  resize(size: { slots: number; budgetBytes: number }): void;
  /** Waits for the work under way, then ends the processes. */
  close(): Promise<void>;
}

/** A process whose work was larger is replaced: memory that it has not freed would count against the next task. */
const LARGE_BYTES = 256 * MEGABYTE;
/** The same for a result. */
const LARGE_RESULT_BYTES = 64 * MEGABYTE;
/** Time without work after which a process is ended. */
const IDLE_MS = 60_000;

export function createChildProcessPool<Task extends { input: Uint8Array }, Reply>(
  options: ChildProcessPoolOptions,
): ChildProcessPool<Task, Reply> {
  const { clock, onLost, diedMessage } = options;
  const admission = new Admission(options);
  /** Processes without work, each with the function that cancels its end. */
  const idle = new Map<TaskProcess, () => void>();

  function start(): TaskProcess {
    const started = startTaskProcess(options);
    void started.gone.then(() => {
      idle.get(started)?.();
      idle.delete(started);
    });
    return started;
  }

  function takeProcess(): TaskProcess {
    const [first] = idle;
    if (first === undefined) return start();
    const [process, cancelEnd] = first;
    cancelEnd();
    idle.delete(process);
    return process;
  }

  function putBack(process: TaskProcess): void {
    const end = () => {
      idle.delete(process);
      void process.kill();
    };
    idle.set(process, clock.after(IDLE_MS, end));
  }

  /** Runs a task in a process, which the signal kills. */
  async function work(
    process: TaskProcess,
    { task, signal }: { task: Task; signal: AbortSignal },
    { isLarge, took }: { isLarge: boolean; took: ChildProcessCall<Task, Reply>['took'] },
  ) {
    const begunMs = clock.elapsedMs();
    const kill = () => void process.kill();
    signal.addEventListener('abort', kill, { once: true });
    try {
      const answer = await process.ask<Task, Reply>(task);
      took(answer.cpuMs, answer.reply);
      if (isLarge || signal.aborted || answer.data.length > LARGE_RESULT_BYTES) await process.kill();
      else putBack(process);
      return answer;
    } catch (error) {
      await process.kill();
      const knownMs = error instanceof ProcessDeath ? error.cpuMs : null;
      took(knownMs ?? clock.elapsedMs() - begunMs);
      if (signal.aborted) throw signal.reason;
      onLost(error as Error);
      if (!(error instanceof ProcessDeath)) throw error;
      throw error.byTask ? unsupportedFormat(diedMessage) : workerUnreachable(error);
    } finally {
      signal.removeEventListener('abort', kill);
    }
  }

  return {
    retryAfterSeconds: () => admission.retryAfterSeconds(),
    expect: (request) => admission.expect(request),
    stats: () => admission.stats(),
    async run({ deadline, begin, took, ...slotRequest }) {
      const { signal, waiting } = deadline;
      const slot = await waiting(admission.acquire({ ...slotRequest, signal }));
      try {
        signal.throwIfAborted();
        const begun = await begin();
        begun.signal.throwIfAborted();
        const { reply, data } = await work(takeProcess(), begun, {
          isLarge: slotRequest.bytes > LARGE_BYTES,
          took,
        });
        return { reply, data, queueMs: slot.queueMs };
      } finally {
        slot.release();
      }
    },
    resize: (size) => admission.resize(size),
    async close() {
      await admission.idle();
      await Promise.all([...idle.keys()].map((process) => process.kill()));
    },
  };
}
