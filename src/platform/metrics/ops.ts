import { Counter, Histogram } from 'prom-client';
import type { SpanPart, Tracing } from '../tracing/tracing.ts';

const PARTS = ['admit', 'fetch', 'queue', 'decode', 'process', 'encode'] as const;

/**
 * Where the time of a run went, in milliseconds: `admitMs` from the request to its admission, `fetchMs` for reading the
 * body or fetching the image, and so on. A part that does not apply is absent.
 */
type RunTimings = { [P in (typeof PARTS)[number] as `${P}Ms`]?: number };

/** One run of an op that succeeded. */
export interface OpRun extends RunTimings {
  /** A name of the catalogue, or `preset`. */
  op: string;
  work: 'call' | 'job';
  bytesIn: number;
  bytesOut: number;
}

const BUCKETS_SECONDS = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60];

export class OpMeter {
  readonly #tracing: Tracing;
  readonly #durations = new Histogram({
    name: 'darkroom_op_duration_seconds',
    help: 'Time of a successful run in the pool, without its wait, by op and class (call or job).',
    labelNames: ['op', 'work'],
    buckets: BUCKETS_SECONDS,
  });
  readonly #parts = new Counter({
    name: 'darkroom_op_part_seconds_total',
    help: 'Time of successful runs by op and part: admit (gate and credential), fetch (reading the body or fetching the url), queue, decode, process, encode. libvips is lazy: a part of decode and encode is in process.',
    labelNames: ['op', 'part'],
  });
  readonly #bytes = new Counter({
    name: 'darkroom_op_bytes_total',
    help: 'Bytes that successful runs read (in) and made (out), by op.',
    labelNames: ['op', 'direction'],
  });

  constructor(tracing: Tracing) {
    this.#tracing = tracing;
  }

  /** Counts a run, and adds its parts to the current trace. The parts follow one another, and the last one ends now. */
  ran(run: OpRun): void {
    const { op, work, bytesIn, bytesOut, decodeMs = 0, processMs = 0, encodeMs = 0 } = run;
    this.#durations.observe({ op, work }, (decodeMs + processMs + encodeMs) / 1000);
    for (const part of PARTS) {
      const ms = run[`${part}Ms`];
      if (ms !== undefined) this.#parts.inc({ op, part }, ms / 1000);
    }
    this.#bytes.inc({ op, direction: 'in' }, bytesIn);
    this.#bytes.inc({ op, direction: 'out' }, bytesOut);
    if (this.#tracing.isOn) this.#tracing.parts(partsOf(run));
  }
}

function partsOf(run: OpRun): SpanPart[] {
  let agoMs = 0;
  return PARTS.toReversed().flatMap((name): SpanPart[] => {
    const ms = run[`${name}Ms`];
    if (ms === undefined) return [];
    agoMs += ms;
    const attributes = { 'darkroom.op': run.op, 'darkroom.work': run.work };
    return [{ name, startedAgoMs: agoMs, endedAgoMs: agoMs - ms, attributes }];
  });
}
