import cluster from 'node:cluster';
import type { Logger } from 'pino';
import type { LoadSnapshot } from '../../platform/metrics/load.ts';
import { type LoadRow, loadRowOf, type ObservedProcess } from '../admin/top.ts';
import { PRIMARY_PROCESS_ID } from '../processes/controls.ts';
import type { ProcessMessage } from '../processes/messages.ts';
import type { OperatorHistory } from './schema.ts';

/** The milliseconds between two samples of the load. */
export const LOAD_SAMPLE_INTERVAL_MS = 10_000;
/** The most samples, which cover an hour. */
const MAX_SAMPLES = 360;
/**
 * The most series of a host: some twenty fixed ones, and one for each reason of refusals, each source of delivered
 * pictures and each role of processes.
 */
const MAX_SERIES = 80;
const MAX_MARKS = 200;
/** Values in excerpts are rounded to this number of significant digits. */
const SIGNIFICANT_DIGITS = 4;

/** An event on a host that is shown on the time axis of its load. */
export type HistoryMark = OperatorHistory['marks'][number];

/**
 * The load of a host in its last hour, in the memory of its primary: a ring buffer of columns. A series begins with its
 * first value other than zero, so that unused series take no memory.
 */
export class LoadHistory {
  readonly #at = new Float64Array(MAX_SAMPLES);
  readonly #columns = new Map<string, Float32Array>();
  readonly #marks: HistoryMark[] = [];
  #count = 0;

  /**
   * Records a sample.
   * @param atMs epoch milliseconds, later than those of the sample before.
   */
  record(atMs: number, row: LoadRow): void {
    const slot = this.#count % MAX_SAMPLES;
    this.#at[slot] = atMs;
    const values = seriesValuesOf(row);
    for (const [name, value] of values) if (value !== 0) this.#addColumn(name);
    for (const [name, column] of this.#columns) column[slot] = values.get(name) ?? 0;
    this.#count += 1;
  }

  addMark(mark: HistoryMark): void {
    this.#marks.push(mark);
    if (this.#marks.length > MAX_MARKS) this.#marks.shift();
  }

  /** The samples and marks after an instant in epoch milliseconds. Without an instant, it returns all of them. */
  excerptSince(afterMs = 0): OperatorHistory {
    const kept = Math.min(this.#count, MAX_SAMPLES);
    const slots = Array.from({ length: kept }, (_, index) => (this.#count - kept + index) % MAX_SAMPLES);
    const wantedSlots = slots.filter((slot) => (this.#at[slot] ?? 0) > afterMs);
    const oldest = this.#at[slots[0] ?? 0] ?? 0;
    return {
      at: wantedSlots.map((slot) => this.#at[slot] ?? 0),
      series: Object.fromEntries(
        [...this.#columns].map(([name, column]) => [
          name,
          wantedSlots.map((slot) => roundValue(column[slot])),
        ]),
      ),
      marks: this.#marks.filter(({ at }) => at > afterMs && at >= oldest - LOAD_SAMPLE_INTERVAL_MS),
    };
  }

  #addColumn(name: string): void {
    if (this.#columns.has(name) || this.#columns.size >= MAX_SERIES) return;
    // The values of the earlier samples are zero.
    this.#columns.set(name, new Float32Array(MAX_SAMPLES));
  }
}

/** The values of a sample, keyed by the names of their series. */
function seriesValuesOf(row: LoadRow): Map<string, number> {
  const none = Number.NaN;
  const named = (prefix: string, values: Readonly<Record<string, number>>) =>
    Object.entries(values).map(([name, value]) => [`${prefix}/${name}`, value] as const);
  return new Map<string, number>([
    ['rate', row.requestsPerSecond],
    ['p50', row.p50 ?? none],
    ['p99', row.p99 ?? none],
    ['waitMs', row.waitMs],
    ['uploadMs', row.uploadMs],
    ['pixelsMs', row.pixelsMs],
    ['storeMs', row.storeMs],
    ['providerMs', row.providerMs],
    ['queued', row.waiting],
    ['busy', row.imageBusy],
    ['items', row.jobItems],
    ['webhooks', row.webhookAttempts],
    ['threads', row.imageThreads],
    ['cores', row.cores],
    ['throttled', row.throttled],
    ['stolen', row.stolen],
    ['pressure', row.pressure],
    ['freeBytes', row.disk?.freeBytes ?? none],
    ...named('refused', row.refusals),
    ...named('delivered', row.delivered),
    ...named('cpu', row.cpuByRole),
    ...named('memory', row.memoryByRole),
  ]);
}

function roundValue(value: number | undefined): number | null {
  return value === undefined || Number.isNaN(value) ? null : Number(value.toPrecision(SIGNIFICANT_DIGITS));
}

/**
 * The number of snapshots that are kept of each process. The current row covers the time between the first and the
 * last.
 */
const MAX_SNAPSHOTS = 4;

interface LoadRecorderOptions {
  hostId: string;
  history: LoadHistory;
  /** Takes a snapshot of the primary itself. */
  readOwn: () => Promise<LoadSnapshot>;
  /** Epoch milliseconds. */
  nowMs: () => number;
}

/** Collects the snapshots that the processes of a host send, and adds a sample to the history in each round. */
export class LoadRecorder {
  readonly #options: LoadRecorderOptions;
  readonly #snapshots = new Map<string, LoadSnapshot[]>();
  /** The processes that have sent a snapshot in this round. A hung process sends none. */
  readonly #heardProcessIds = new Set<string>();
  /**
   * The row that `currentRow` has computed since the last round. It is cached, because every open page requests it
   * every few seconds.
   */
  #cachedRow: LoadRow | null = null;

  constructor(options: LoadRecorderOptions) {
    this.#options = options;
  }

  /** Receives the snapshot of a process. */
  receive(processId: string, snapshot: LoadSnapshot): void {
    const kept = this.#snapshots.get(processId) ?? [];
    this.#snapshots.set(processId, [...kept.slice(1 - MAX_SNAPSHOTS), snapshot]);
    this.#heardProcessIds.add(processId);
  }

  /** Forgets a process, because it has ended. */
  forget(processId: string): void {
    this.#snapshots.delete(processId);
    this.#cachedRow = null;
  }

  /** Records the load since the round before. */
  async sample(): Promise<void> {
    const { history, nowMs, readOwn } = this.#options;
    this.receive(PRIMARY_PROCESS_ID, await readOwn());
    const row = this.#rowOver(2, [...this.#heardProcessIds]);
    this.#heardProcessIds.clear();
    this.#cachedRow = null;
    if (row !== null) history.record(nowMs(), row);
  }

  /** The load of the host in the half minute before the last round; null before the second round. */
  currentRow(): LoadRow | null {
    this.#cachedRow ??= this.#rowOver(MAX_SNAPSHOTS, [...this.#snapshots.keys()]);
    return this.#cachedRow;
  }

  /**
   * The load of the host over the latest snapshots of some processes.
   * @param snapshots the number of snapshots of each process that the row covers.
   */
  #rowOver(snapshots: number, processIds: readonly string[]): LoadRow | null {
    const { hostId } = this.#options;
    const observed = processIds.flatMap((processId): ObservedProcess[] => {
      const kept = this.#snapshots.get(processId) ?? [];
      const [before] = kept.slice(-snapshots);
      const after = kept.at(-1);
      if (before === undefined || after === undefined || before === after) return [];
      return [{ hostId, processId, before, after }];
    });
    return observed.length === 0 ? null : loadRowOf('host', hostId, observed);
  }
}

/**
 * Gives a recorder the snapshots of every process that cluster.fork() has started or will start, and runs the rounds of
 * the recorder.
 */
export function recordLoad(recorder: LoadRecorder, log: Logger): void {
  cluster.on('message', ({ id }, message: ProcessMessage) => {
    if (message?.type === 'load') recorder.receive(String(id), message.snapshot);
  });
  cluster.on('exit', ({ id }) => recorder.forget(String(id)));
  const round = () =>
    recorder
      .sample()
      .catch((error) => log.warn({ err: error }, 'The load of the last ten seconds is not recorded'));
  setInterval(() => void round(), LOAD_SAMPLE_INTERVAL_MS).unref();
}
