import type { Logger } from 'pino';
import type { AdmissionStats } from '../../imaging/images/admission.ts';
import type { ImageWorkers } from '../../imaging/images/image-workers.ts';
import type { Renders } from '../../imaging/renders/renders.ts';
import type { ChangeableCapacity } from '../../platform/concurrency/capacity.ts';
import { loadSnapshot } from '../../platform/metrics/load.ts';
import type { SharedClock } from '../../platform/shared-clock.ts';
import type { Control, ControlHandler } from './controls.ts';

/** The controls of an API process: it reports its pools, changes their size, and changes its log level. */
export function processControls(options: {
  imageWorkers: ImageWorkers;
  renders: Renders;
  capacity: ChangeableCapacity;
  clock: Pick<SharedClock, 'differenceMs'>;
  log: Logger;
  /** The mark of the documents of this process. */
  deployment: string;
}): ControlHandler {
  const { imageWorkers, renders, capacity, clock, log, deployment } = options;
  const initialLevel = log.level;
  let resetTimer: NodeJS.Timeout | undefined;

  function setLevel({ level, forMs, by }: Extract<Control, { kind: 'log' }>): void {
    clearTimeout(resetTimer);
    const before = log.level;
    // The line is written at the more verbose of the two levels, so that a change to `silent` is logged as well.
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

  return async (control) => {
    switch (control.kind) {
      case 'pools': {
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
      case 'load':
        return { ...(await loadSnapshot()) };
      case 'log':
        setLevel(control);
        return { level: control.level };
      case 'set':
        capacity.set(control.name, control.value);
        return { [control.name]: control.value };
      case 'drain':
        return null;
    }
  };
}

/** A pool of images, in the words of the command that shows it. */
function poolReport({ slots, busy, waiting, meanWaitMs, reservedBytes, budgetBytes }: AdmissionStats) {
  return { threads: slots, busy, queued: waiting, waitMs: meanWaitMs, reservedBytes, budgetBytes };
}
