import type { LoadSuite } from '../load/suite.ts';
import { agents, batches, cards, questions, webPages } from './calls.ts';

/**
 * The load of a typical day: for each kind of calls, a share of what the host can do of that kind alone, about half of
 * the host in all.
 */
const DAILY_RATES = {
  web: { times: 0.25, stage: 'web alone' },
  agents: { times: 0.15, stage: 'agents alone' },
  cards: { times: 0.05, stage: 'cards alone' },
  questions: { times: 0.02, stage: 'questions alone' },
};

const mix: LoadSuite = {
  name: 'mix',
  description:
    'Agents, web pages and a batch together, in the shares of a real day, scaled to what the host can do.',
  cases: { web: webPages, agents, cards, questions, batch: batches(50) },
  stages: [
    {
      name: 'warm up',
      seconds: 10,
      loop: 'closed',
      isWarmUp: true,
      connections: { web: 2, agents: 1, cards: 1 },
    },
    { name: 'web alone', seconds: 6, loop: 'closed', connections: { web: 4 } },
    { name: 'agents alone', seconds: 6, loop: 'closed', connections: { agents: 4 } },
    { name: 'cards alone', seconds: 6, loop: 'closed', connections: { cards: 4 } },
    { name: 'questions alone', seconds: 6, loop: 'closed', connections: { questions: 4 } },
    { name: 'without the batch', seconds: 60, loop: 'open', perSecond: DAILY_RATES },
    { name: 'with the batch', seconds: 60, loop: 'open', perSecond: { ...DAILY_RATES, batch: 0.05 } },
  ],
  thresholds: [
    { stage: 'without the batch', case: 'web', measure: 'errorShare', atMost: 0.01 },
    { stage: 'without the batch', case: 'agents', measure: 'errorShare', atMost: 0.01 },
    { stage: 'with the batch', case: 'web', measure: 'errorShare', atMost: 0.01 },
    { stage: 'with the batch', case: 'agents', measure: 'errorShare', atMost: 0.01 },
    { stage: 'with the batch', case: 'batch', measure: 'errorShare', atMost: 0 },
  ],
};

export default mix;
