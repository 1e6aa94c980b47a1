import type { FastifyReply } from 'fastify';
import type { Timings } from '../../../workers/protocol.ts';
import type { OpRun } from '../../platform/metrics/ops.ts';

/** The time of a synchronous call by phase, in milliseconds. */
interface CallTiming extends Partial<Timings> {
  /** Time from the request to its admission. */
  admitMs: number;
  /** Time for reading the body, or fetching the image. */
  fetchMs: number;
  /** Time in the queue for a thread. */
  queueMs: number;
}

/** Sends `Server-Timing: admit;dur=0.4, fetch;dur=3.1, …`, and the worker's time in a header of its own. */
export function sendTiming(reply: FastifyReply, timing: CallTiming): void {
  const { admitMs, fetchMs, queueMs, decodeMs = 0, processMs = 0, encodeMs = 0 } = timing;
  const parts = {
    admit: admitMs,
    fetch: fetchMs,
    queue: queueMs,
    decode: decodeMs,
    process: processMs,
    encode: encodeMs,
  };
  const text = Object.entries(parts).map(([name, ms]) => `${name};dur=${ms.toFixed(1)}`);
  reply.header('server-timing', text.join(', '));
  reply.header('x-service-duration-ms', String(workerMs(timing)));
}

/** Time in the worker, in whole milliseconds. */
export function workerMs({ decodeMs = 0, processMs = 0, encodeMs = 0 }: Partial<Timings>): number {
  return Math.round(decodeMs + processMs + encodeMs);
}

/** A synchronous run that succeeded. */
export interface TimedRun {
  /** Time for reading the body, or fetching the image, in milliseconds. */
  fetchMs: number;
  /** Time in the queue for a thread. */
  queueMs: number;
  timings: Partial<Timings>;
  bytesIn: number;
  data?: Uint8Array;
}

/** A synchronous run as the meter counts it. */
export function runOf(op: string, run: TimedRun & { admitMs: number }): OpRun {
  const { admitMs, fetchMs, bytesIn, data, queueMs, timings } = run;
  const bytesOut = data?.length ?? 0;
  return { op, work: 'call', admitMs, fetchMs, bytesIn, bytesOut, queueMs, ...timings };
}
