import type { Logger } from 'pino';
import type { ImageWorkers } from '../../imaging/images/image-workers.ts';
import type { AdmissionStats } from '../../imaging/images/slots.ts';
import type { Renders } from '../../imaging/renders/renders.ts';
import type { SharedClock } from '../../platform/clock.ts';
import type { Capacity, CapacitySetting } from '../../platform/concurrency/capacity.ts';
import type { LoadSnapshot } from '../../platform/metrics/load.ts';
import type { ControlHandler, ProcessControl } from './controls.ts';

/** What a process reports about itself when the operator asks. */
export interface ProcessReport {
  pid: number;
  rssBytes: number;
  uptimeSeconds: number;
  /** The fingerprint of the deployment that its documents belong to. */
  deployment: string;
  logLevel: string;
  clockDifferenceMs: number;
  settings: Record<CapacitySetting, number>;
  image: PoolReport;
  slow: PoolReport;
  heavy: PoolReport;
  batch: PoolReport;
  render: { threads: number; busy: number; waiting: number };
}

/** The state of an image pool. The field names are the words that the operator's command shows. */
interface PoolReport {
  threads: number;
  busy: number;
  queued: number;
  waitMs: number;
  reservedBytes: number;
  budgetBytes: number;
}

/**
 * Creates the handler of operators' controls in an API process. The process reports its pools, changes their size, and
 * changes its log level.
 */
export function createProcessControls(options: {
  imageWorkers: ImageWorkers;
  renders: Renders;
  capacity: Capacity;
  clock: Pick<SharedClock, 'differenceMs'>;
  log: Logger;
  readLoad: () => Promise<LoadSnapshot>;
  /** The fingerprint of the deployment that the documents of this process belong to. */
  deployment: string;
}): ControlHandler {
  const { imageWorkers, renders, capacity, clock, log, readLoad, deployment } = options;
  const initialLevel = log.level;
  let resetTimer: NodeJS.Timeout | undefined;

  function setLogLevel({ level, forMs, by }: Extract<ProcessControl, { kind: 'log' }>): void {
    clearTimeout(resetTimer);
    const before = log.level;
    // The line is written before or after the change, whichever level allows it, so that a change to `silent` is logged
    // too.
    const isLogged = log.isLevelEnabled('info');
    const audit = () => log.info({ by, before, after: level, forMs }, 'The log level was changed');
    if (isLogged) audit();
    log.level = level;
    if (!isLogged) audit();
    if (forMs === null) return;
    resetTimer = setTimeout(() => {
      log.level = initialLevel;
    }, forMs).unref();
  }

  function report(): ProcessReport {
    const { quick, slow, heavy, batch } = imageWorkers.stats();
    return {
      pid: process.pid,
      rssBytes: process.memoryUsage.rss(),
      uptimeSeconds: Math.round(process.uptime()),
      deployment,
      logLevel: log.level,
      clockDifferenceMs: Math.round(clock.differenceMs()),
      settings: capacity.values(),
      image: poolReport(quick),
      slow: poolReport(slow),
      heavy: poolReport(heavy),
      batch: poolReport(batch),
      render: { ...renders.stats() },
    };
  }

  return async (control) => {
    switch (control.kind) {
      case 'pools':
      case 'state':
        return { ...report() };
      case 'load':
        return { ...(await readLoad()) };
      case 'log':
        setLogLevel(control);
        return { level: control.level };
      case 'set':
        capacity.set(control.name, control.value);
        return { [control.name]: control.value };
      case 'drain':
      case 'settings':
        return null;
    }
  };
}

function poolReport(stats: AdmissionStats): PoolReport {
  const { slots, busy, waiting, meanWaitMs, reservedBytes, budgetBytes } = stats;
  return { threads: slots, busy, queued: waiting, waitMs: meanWaitMs, reservedBytes, budgetBytes };
}
