import type { LoadSuite } from '../load/suite.ts';
import { batches, waitedJobs, webPages } from './calls.ts';

const jobsLoad: LoadSuite = {
  name: 'jobs-load',
  description: 'Waited jobs of one item, batches, and both during the pictures of web pages.',
  cases: { waited: waitedJobs, batch: batches(100), web: webPages },
  stages: [
    { name: 'warm up', seconds: 5, loop: 'closed', isWarmUp: true, connections: { waited: 1 } },
    { name: 'waited', seconds: 20, loop: 'closed', connections: { waited: 4 } },
    { name: 'web alone', seconds: 20, loop: 'open', perSecond: { web: 6 } },
    { name: 'web beside a batch', seconds: 40, loop: 'open', perSecond: { web: 6, batch: 0.2 } },
  ],
  thresholds: [
    { stage: 'waited', case: 'waited', measure: 'errorShare', atMost: 0 },
    { stage: 'web beside a batch', case: 'web', measure: 'errorShare', atMost: 0 },
    { stage: 'web beside a batch', case: 'batch', measure: 'errorShare', atMost: 0 },
  ],
};

export default jobsLoad;
