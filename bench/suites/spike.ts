import type { LoadSuite } from '../load/suite.ts';
import { questions, webPages } from './calls.ts';

const spike: LoadSuite = {
  name: 'spike',
  description:
    'Ten times the usual load for a minute, and whether the minute after it is as the minute before.',
  // The limit of the host is to be reached, not that of an account.
  accounts: 8,
  cases: { web: webPages, questions },
  stages: [
    { name: 'warm up', seconds: 10, loop: 'closed', isWarmUp: true, connections: { web: 2 } },
    { name: 'before', seconds: 30, loop: 'open', perSecond: { web: 6, questions: 3 } },
    { name: 'spike', seconds: 60, loop: 'open', retries: true, perSecond: { web: 60, questions: 30 } },
    { name: 'after', seconds: 30, loop: 'open', perSecond: { web: 6, questions: 3 } },
  ],
  thresholds: [
    { stage: 'before', case: 'web', measure: 'errorShare', atMost: 0 },
    { stage: 'after', case: 'web', measure: 'errorShare', atMost: 0 },
  ],
};

export default spike;
