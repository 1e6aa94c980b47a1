import cluster from 'node:cluster';
import type { Logger } from 'pino';
import type { LoadSnapshot } from '../../platform/metrics/load.ts';
import { hostRow, type LoadRow, type ObservedProcess } from '../admin/top.ts';
import type { ProcessMessage } from '../processes/messages.ts';
import { LOAD_SAMPLE_INTERVAL_MS, type LoadHistory } from './history.ts';

/**
 * The number of snapshots that are kept of each process. The current row covers the time between the first and the
 * last.
 */
const MAX_SNAPSHOTS = 4;
const PRIMARY = 'primary';

interface RecorderOptions {
  hostId: string;
  history: LoadHistory;
  /** The snapshot of the primary itself. */
  readOwn: () => Promise<LoadSnapshot>;
  /** Epoch milliseconds. */
  nowMs: () => number;
}

/** Collects the snapshots that the processes of a host send, and adds a sample to the history in each round. */
export class LoadRecorder {
  readonly #options: RecorderOptions;
  readonly #snapshots = new Map<string, LoadSnapshot[]>();
  /** The processes that have sent a snapshot in this round. A hung process sends none. */
  readonly #heard = new Set<string>();
  /** What `now` returned since the last round: every page that is open asks for it every few seconds. */
  #now: LoadRow | null = null;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** A process has sent its snapshot. */
  receive(processId: string, snapshot: LoadSnapshot): void {
    const kept = this.#snapshots.get(processId) ?? [];
    this.#snapshots.set(processId, [...kept.slice(1 - MAX_SNAPSHOTS), snapshot]);
    this.#heard.add(processId);
  }

  /** A process has ended. */
  forget(processId: string): void {
    this.#snapshots.delete(processId);
    this.#now = null;
  }

  /** Records the load since the round before. */
  async sample(): Promise<void> {
    const { history, nowMs, readOwn } = this.#options;
    this.receive(PRIMARY, await readOwn());
    const row = this.#rowOver(2, [...this.#heard]);
    this.#heard.clear();
    this.#now = null;
    if (row !== null) history.record(nowMs(), row);
  }

  /** The load of the host in the half minute before the last round; null before the second round. */
  now(): LoadRow | null {
    this.#now ??= this.#rowOver(MAX_SNAPSHOTS, [...this.#snapshots.keys()]);
    return this.#now;
  }

  /** @param snapshots the number of snapshots of each process that the row covers. */
  #rowOver(snapshots: number, processIds: readonly string[]): LoadRow | null {
    const { hostId } = this.#options;
    const observed = processIds.flatMap((processId): ObservedProcess[] => {
      const kept = this.#snapshots.get(processId) ?? [];
      const [before] = kept.slice(-snapshots);
      const after = kept.at(-1);
      return before === undefined || after === undefined || before === after
        ? []
        : [{ hostId, processId, before, after }];
    });
    return observed.length === 0 ? null : hostRow(hostId, observed);
  }
}

/**
 * Passes the snapshots of every process that cluster.fork() started or will start to a recorder, and runs its rounds.
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
