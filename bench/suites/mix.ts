import type { LoadSuite } from '../load/suite.ts';
import { agents, batches, cards, questions, webPages } from './calls.ts';

/** Shares of a typical day: pages send most calls, agents work beside them, and a batch runs all the time. */
const mix: LoadSuite = {
  name: 'mix',
  description: 'Agents, web pages and a batch together, in the shares of a real day.',
  cases: { web: webPages, agents, cards, questions, batch: batches(50) },
  stages: [
    {
      name: 'warm up',
      seconds: 10,
      loop: 'closed',
      isWarmUp: true,
      connections: { web: 2, agents: 1, cards: 1 },
    },
    {
      name: 'without the batch',
      seconds: 60,
      loop: 'open',
      perSecond: { web: 8, agents: 2, cards: 0.5, questions: 4 },
    },
    {
      name: 'with the batch',
      seconds: 60,
      loop: 'open',
      perSecond: { web: 8, agents: 2, cards: 0.5, questions: 4, batch: 0.05 },
    },
  ],
  thresholds: [
    { stage: 'with the batch', case: 'web', measure: 'errorShare', atMost: 0.01 },
    { stage: 'with the batch', case: 'agents', measure: 'errorShare', atMost: 0.01 },
  ],
};

export default mix;
