import type { LoadRow } from '../../src/host/admin/top.ts';
import { LoadHistory } from '../../src/host/operator/history.ts';
import { HostReporter } from '../../src/host/operator/host-report.ts';
import { answerControls, type ControlHandler } from '../../src/host/processes/controls.ts';
import type { ProcessReport } from '../../src/host/processes/process-controls.ts';
import type { Coordination } from '../../src/platform/stores/coordination/port.ts';
import { rowWith } from '../host/operator/rows.ts';

const SAMPLES = 360;
const SAMPLE_MS = 10_000;
const MEGABYTE = 1_048_576;

/** A host of two processes with an hour of history, for pages that show one. Its figures are made up. */
export interface PretendHost {
  /** The load of now; a test changes its fields. */
  row: LoadRow;
  reporter: HostReporter;
  /** Records one more sample, such as after a change. */
  sample(changed?: Partial<LoadRow>): void;
  /** Every control but the questions for the state. */
  given: Array<{ kind: string }>;
  /** Processes that do not answer. */
  silent: Set<string>;
}

/** Answers the controls as a primary and its two processes do. */
export async function pretendHost(coordination: Coordination, hostId = 'test-host'): Promise<PretendHost> {
  const history = new LoadHistory();
  let nowMs = Date.now() - SAMPLES * SAMPLE_MS;
  const settings: Record<string, number> = {
    ...{ PROCESSES: 2, IMAGE_THREADS: 1, RENDER_THREADS: 1, IMAGE_QUEUE: 34, IMAGE_WAIT_MS: 5_000 },
    ...{ JOB_ITEMS: 1_000, WEBHOOK_CONCURRENCY: 1_024 },
  };
  const host: PretendHost = {
    row: rowWith({ name: hostId }),
    given: [],
    silent: new Set(),
    reporter: new HostReporter({
      ...{ hostId, history, hangTimeoutMs: 15_000 },
      // Two things that happen have two instants.
      nowMs: () => {
        nowMs += 1;
        return nowMs;
      },
      recorder: { currentRow: () => host.row },
      processes: () =>
        [1, 2].map((processId) => ({
          ...{ processId, pid: 4_100 + processId, isServing: true, uptimeSeconds: 7_260 },
          silentMs: host.silent.has(String(processId)) ? 7_000 : 300,
        })),
      settings: () => settings,
    }),
    sample(changed = {}) {
      nowMs += SAMPLE_MS;
      history.record(nowMs, { ...host.row, ...changed });
    },
  };
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    if (sample === 250)
      host.reporter.recordMark({ kind: 'set', by: 'anna on host-a, pid 4711', text: 'IMAGE_QUEUE 20 → 34' });
    if (sample === 300) host.reporter.recordRestart('signal', 3);
    host.sample(rowAt(sample));
  }

  const handle: ControlHandler = async (control) => {
    if (control.kind === 'state') return { ...host.reporter.report(control.afterMs) };
    host.given.push(control);
    if (control.kind === 'set') {
      const { name, value, by } = control;
      host.reporter.recordMark({ kind: 'set', by, text: `${name} ${settings[name]} → ${value}` });
      settings[name] = value;
      return { [name]: value };
    }
    if (control.kind === 'log')
      host.reporter.recordMark({ kind: 'log', by: control.by, text: `Log level ${control.level}` });
    if (control.kind === 'drain') return { replaced: control.processId };
    return null;
  };
  await answerControls(coordination, { hostId, processId: 'primary' }, handle);
  for (const processId of ['1', '2'])
    await answerControls(coordination, { hostId, processId }, async ({ kind }) =>
      kind === 'state' && !host.silent.has(processId)
        ? { ...processReport(Number(processId), settings) }
        : null,
    );
  return host;
}

/** A day's hour: a wave of calls, with a busy quarter that refuses some. */
function rowAt(sample: number): Partial<LoadRow> {
  const wave = 1 + 0.35 * Math.sin(sample / 22) + 0.12 * Math.sin(sample / 3.1);
  const isBusy = sample > 190 && sample < 260;
  const load = wave * (isBusy ? 2.1 : 1);
  return {
    requestsPerSecond: 22 * load,
    p50: 28 * wave + (isBusy ? 120 : 0),
    p99: 85 * wave + (isBusy ? 620 * wave : 0),
    waitMs: isBusy ? 130 * wave : 3,
    uploadMs: 4 * wave,
    pixelsMs: 24 * wave,
    storeMs: 2.2 * wave,
    waiting: isBusy ? Math.round(9 * wave) : 0,
    imageBusy: Math.min(2, load),
    refusals: isBusy ? { capacity: 1.8 * wave, account_concurrency: 0.6 } : { invalid_param: 0.1 * wave },
    cpuByRole: {
      primary: 0.04 * wave,
      api: Math.min(1.7, 0.62 * load),
      browser: 0.08,
      slow: isBusy ? 0.2 : 0.02,
    },
    memoryByRole: {
      ...{ primary: 152 * MEGABYTE, browser: 210 * MEGABYTE, slow: 90 * MEGABYTE },
      api: (640 + 90 * wave) * MEGABYTE,
    },
    delivered: { memory: 12 * wave, disk: 2.4 * wave, made: 0.7 * wave },
  };
}

function processReport(processId: number, settings: Record<string, number>): ProcessReport {
  const pool = { threads: 1, busy: 0, queued: 0, waitMs: 0, reservedBytes: 0, budgetBytes: 1 };
  return {
    pid: 4_100 + processId,
    rssBytes: (330 + 12 * processId) * MEGABYTE,
    uptimeSeconds: 7_260,
    deployment: 'test',
    logLevel: 'info',
    clockDifferenceMs: 0,
    settings: settings as ProcessReport['settings'],
    image: { ...pool, threads: settings.IMAGE_THREADS ?? 1, busy: 1, queued: 2 * processId, waitMs: 12 },
    slow: { ...pool, busy: processId === 1 ? 1 : 0 },
    heavy: { ...pool, threads: 2 },
    batch: pool,
    render: { threads: 1, busy: 0, waiting: 0 },
  };
}
