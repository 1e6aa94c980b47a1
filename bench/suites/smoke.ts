import type { LoadSuite } from '../load/suite.ts';
import { agents, cards, questions, transforms, webPages } from './calls.ts';

const smoke: LoadSuite = {
  name: 'smoke',
  description:
    'A minute that shows whether an instance works, and roughly how fast: each kind of call alone.',
  cases: {
    small: transforms(0.03, 'op=resize&width=64&format=jpeg'),
    camera: transforms(12, 'op=resize&width=512&format=webp'),
    web: webPages,
    agents,
    cards,
    questions,
  },
  stages: [
    {
      name: 'warm up',
      seconds: 5,
      loop: 'closed',
      isWarmUp: true,
      connections: { small: 2, camera: 1, cards: 1 },
    },
    { name: 'small', seconds: 8, loop: 'closed', connections: { small: 4 } },
    { name: 'camera', seconds: 8, loop: 'closed', connections: { camera: 4 } },
    { name: 'web', seconds: 8, loop: 'closed', connections: { web: 4 } },
    { name: 'agents', seconds: 8, loop: 'closed', connections: { agents: 4 } },
    { name: 'cards', seconds: 8, loop: 'closed', connections: { cards: 2 } },
    { name: 'questions', seconds: 8, loop: 'closed', connections: { questions: 8 } },
  ],
  thresholds: [
    { stage: 'small', case: 'small', measure: 'errorShare', atMost: 0 },
    { stage: 'camera', case: 'camera', measure: 'errorShare', atMost: 0 },
    { stage: 'web', case: 'web', measure: 'errorShare', atMost: 0 },
    { stage: 'agents', case: 'agents', measure: 'errorShare', atMost: 0 },
    { stage: 'cards', case: 'cards', measure: 'errorShare', atMost: 0 },
    { stage: 'questions', case: 'questions', measure: 'errorShare', atMost: 0 },
  ],
};

export default smoke;
