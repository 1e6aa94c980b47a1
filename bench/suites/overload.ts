import type { LoadSuite, Threshold } from '../load/suite.ts';
import { cameraBodies, health } from './calls.ts';

/** The rates of the overload: three times the capacity of the host, and probes that must still be answered. */
const OVERLOAD_RATES = { camera: { times: 3, stage: 'capacity' }, health: 5 };

/** What must hold however much is refused: the goodput, the waits of the calls that are served, and the probes. */
function thresholdsOf(stage: string): Threshold[] {
  return [
    { stage, case: 'camera', measure: 'perSecond', atLeast: { times: 0.8, stage: 'capacity' } },
    { stage, case: 'camera', measure: 'p99', atMost: 2_000 },
    { stage, case: 'health', measure: 'p99', atMost: 100 },
    { stage, case: 'health', measure: 'errorShare', atMost: 0 },
  ];
}

const overload: LoadSuite = {
  name: 'overload',
  description:
    'Bodies of 3 to 8 MB in an open loop at three times what the host can do: how much of the goodput stays, how the rest is refused, whether a call that waits for Retry-After then succeeds, and whether probes are still answered.',
  // With several accounts, the limit of the host is reached before that of an account.
  accounts: 8,
  cases: { camera: cameraBodies('op=resize&width=512&format=webp'), health },
  stages: [
    { name: 'warm up', seconds: 5, loop: 'closed', isWarmUp: true, connections: { camera: 4 } },
    { name: 'capacity', seconds: 20, loop: 'closed', connections: { camera: 8 } },
    { name: 'overload', seconds: 60, loop: 'open', perSecond: OVERLOAD_RATES },
    // Retries of refused calls raise the load to about five times the capacity.
    { name: 'with repeats', seconds: 30, loop: 'open', retries: true, perSecond: OVERLOAD_RATES },
    { name: 'afterwards', seconds: 20, loop: 'closed', connections: { camera: 8 } },
  ],
  thresholds: [
    ...thresholdsOf('overload'),
    ...thresholdsOf('with repeats'),
    { stage: 'afterwards', case: 'camera', measure: 'errorShare', atMost: 0 },
  ],
};

export default overload;
