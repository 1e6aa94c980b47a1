import type { LoadSuite } from '../load/suite.ts';
import { questions, webPages } from './calls.ts';

/** Ten times the usual load is twice what the host can do. */
const USUAL_RATES = {
  web: { times: 0.2, stage: 'capacity' },
  questions: { times: 0.01, stage: 'questions alone' },
};
const SPIKE_RATES = {
  web: { times: 2, stage: 'capacity' },
  questions: { times: 0.1, stage: 'questions alone' },
};

const spike: LoadSuite = {
  name: 'spike',
  description:
    'Ten times the usual load for a minute, and whether the minute after it looks like the minute before it.',
  // With several accounts, the limit of the host is reached before that of an account.
  accounts: 8,
  cases: { web: webPages, questions },
  stages: [
    { name: 'warm up', seconds: 10, loop: 'closed', isWarmUp: true, connections: { web: 2 } },
    { name: 'capacity', seconds: 10, loop: 'closed', connections: { web: 8 } },
    { name: 'questions alone', seconds: 5, loop: 'closed', connections: { questions: 4 } },
    { name: 'before', seconds: 30, loop: 'open', perSecond: USUAL_RATES },
    { name: 'spike', seconds: 60, loop: 'open', retries: true, perSecond: SPIKE_RATES },
    { name: 'after', seconds: 30, loop: 'open', perSecond: USUAL_RATES },
  ],
  thresholds: [
    { stage: 'before', case: 'web', measure: 'errorShare', atMost: 0 },
    {
      ...{ stage: 'spike', case: 'web', measure: 'perSecond' as const },
      // The rest of the host is used by questions, retries and the loader.
      atLeast: { times: 0.75, stage: 'capacity' },
    },
    { stage: 'after', case: 'web', measure: 'errorShare', atMost: 0 },
  ],
};

export default spike;
