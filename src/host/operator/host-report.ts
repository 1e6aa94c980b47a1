import { grantedCores, usableMemoryBytes } from '../../platform/concurrency/control-group.ts';
import type { RestartReason } from '../../platform/metrics/host.ts';
import { type ProcessSilence, verdictsOnHost } from '../admin/verdicts.ts';
import type { SupervisedProcess } from '../processes/supervisor.ts';
import type { HistoryMark, LoadHistory, LoadRecorder } from './history.ts';
import type { OperatorHost } from './schema.ts';

/** The report of a primary about its host. */
export type HostReport = Omit<OperatorHost, 'hostId' | 'processes'> & { processes: SupervisedProcess[] };

interface HostReporterOptions {
  hostId: string;
  history: LoadHistory;
  recorder: Pick<LoadRecorder, 'currentRow'>;
  /** The value of HANG_TIMEOUT_MS: after this time without a heartbeat, a process counts as hung. */
  hangTimeoutMs: number;
  processes: () => SupervisedProcess[];
  settings: () => Record<string, number>;
  /** Epoch milliseconds. */
  nowMs: () => number;
}

const RESTART_REASON_TEXTS: Record<RestartReason, string> = {
  hung: 'hung',
  signal: 'was killed',
  memory: 'was killed because memory ran out',
  exit: 'ended by itself',
};

/**
 * Reports the state of the host as its primary sees it, with the restarts of its processes and the operators' changes.
 */
export class HostReporter {
  readonly #options: HostReporterOptions;
  /** The limits of the host. They are read once, because the kernel spreads them over many small files. */
  readonly #granted = { cores: grantedCores(), memoryLimitBytes: usableMemoryBytes() };
  readonly #restarts: Record<RestartReason, number> = { exit: 0, signal: 0, memory: 0, hung: 0 };
  #lastRestart: { atMs: number; text: string } | undefined;

  constructor(options: HostReporterOptions) {
    this.#options = options;
  }

  /** Records what an operator did, so that the time axis of the load shows it. */
  recordMark(mark: Omit<HistoryMark, 'at'>): void {
    this.#options.history.addMark({ at: this.#options.nowMs(), ...mark });
  }

  /** Records that a process died and is replaced. */
  recordRestart(reason: RestartReason, processId: number): void {
    this.#restarts[reason] += 1;
    const text = `Process ${processId} ${RESTART_REASON_TEXTS[reason]} and is replaced`;
    this.#lastRestart = { atMs: this.#options.nowMs(), text };
    this.recordMark({ kind: 'restart', by: '', text });
  }

  /**
   * The state of the host now, and its history.
   * @param afterMs epoch milliseconds. The history contains only what is newer.
   */
  report(afterMs: number): HostReport {
    const { history, recorder, processes, settings } = this.#options;
    const row = recorder.currentRow();
    const live = processes();
    return {
      ...this.#granted,
      settings: settings(),
      restarts: { ...this.#restarts },
      cpuByRole: row?.cpuByRole ?? {},
      memoryByRole: row?.memoryByRole ?? {},
      countByRole: row?.countByRole ?? {},
      verdicts: verdictsOnHost({
        row,
        silent: this.#silenceOfProcesses(live),
        restart: this.#lastRestartWithAge(),
      }),
      processes: live,
      history: history.excerptSince(afterMs),
    };
  }

  #silenceOfProcesses(live: readonly SupervisedProcess[]): ProcessSilence[] {
    const { hostId, hangTimeoutMs: timeoutMs } = this.#options;
    return live
      .filter(({ isServing }) => isServing)
      .map(({ processId, silentMs }) => ({ name: `${hostId}/${processId}`, silentMs, timeoutMs }));
  }

  #lastRestartWithAge(): { text: string; agoMs: number } | undefined {
    if (this.#lastRestart === undefined) return undefined;
    const { atMs, text } = this.#lastRestart;
    return { text, agoMs: this.#options.nowMs() - atMs };
  }
}
