import type { LoadSuite } from '../load/suite.ts';
import { questions, transforms } from './calls.ts';

/** The kinds of calls whose capacity is searched for: by operation, format and megapixels. */
const capacity: LoadSuite = {
  name: 'capacity',
  description: 'The highest rate of each kind of call alone that meets the objective.',
  accounts: 4,
  cases: {
    'camera-webp': transforms(12, 'op=resize&width=512&format=webp'),
    'camera-jpeg': transforms(12, 'op=resize&width=512&format=jpeg'),
    'camera-avif': transforms(12, 'op=resize&width=512&format=avif'),
    'page-webp': transforms(2, 'op=resize&width=800&format=webp'),
    'graphic-png': transforms(1, 'op=resize&width=512&format=png'),
    'small-jpeg': transforms(0.03, 'op=resize&width=64&format=jpeg'),
    questions,
  },
  stages: [
    {
      name: 'closed',
      seconds: 5,
      loop: 'closed',
      connections: { 'camera-webp': 4 },
    },
  ],
};

export default capacity;
