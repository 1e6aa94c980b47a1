import type { LoadSuite } from '../load/suite.ts';
import { transforms } from './calls.ts';

const overload: LoadSuite = {
  name: 'overload',
  description:
    'Open loop at three times what the host can do: how much of the goodput stays, how the rest is refused, and whether a call that waits for Retry-After then succeeds.',
  // The limit of the host is to be reached, not that of an account.
  accounts: 8,
  cases: {
    camera: transforms(12, 'op=resize&width=512&format=webp'),
  },
  stages: [
    { name: 'warm up', seconds: 5, loop: 'closed', isWarmUp: true, connections: { camera: 4 } },
    { name: 'capacity', seconds: 20, loop: 'closed', connections: { camera: 8 } },
    {
      name: 'overload',
      seconds: 60,
      loop: 'open',
      perSecond: { camera: { times: 3, stage: 'capacity' } },
    },
    // Refused calls that come again raise the load to about five times the capacity.
    {
      name: 'with repeats',
      seconds: 30,
      loop: 'open',
      retries: true,
      perSecond: { camera: { times: 3, stage: 'capacity' } },
    },
    { name: 'afterwards', seconds: 20, loop: 'closed', connections: { camera: 8 } },
  ],
  thresholds: [
    {
      ...{ stage: 'overload', case: 'camera', measure: 'perSecond' as const },
      atLeast: { times: 0.85, stage: 'capacity' },
    },
    { stage: 'overload', case: 'camera', measure: 'p99', atMost: 2_000 },
    { stage: 'afterwards', case: 'camera', measure: 'errorShare', atMost: 0 },
  ],
};

export default overload;
