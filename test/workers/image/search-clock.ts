import { WorkClock } from '../../../workers/image/search/time.ts';

/** A clock on a host that gives this process the share `pace` of a core. */
export function clockAt(nowMs: () => number, pace = 1): WorkClock {
  return new WorkClock({ nowMs, cpuMs: () => pace * nowMs() });
}
