import type { LoadSuite } from '../load/suite.ts';
import { cards, transforms, webPages } from './calls.ts';

/** Stages are short, because differences between two settings show in many rounds, not in long ones. */
const tune: LoadSuite = {
  name: 'tune',
  description:
    'Small pictures, pages, photographs and cards at full strength, in stages short enough for many rounds.',
  cases: {
    small: transforms(0.03, 'op=resize&width=64&format=jpeg'),
    web: webPages,
    camera: transforms(12, 'op=resize&width=512&format=webp'),
    cards,
  },
  stages: [
    {
      name: 'warm up',
      seconds: 3,
      loop: 'closed',
      isWarmUp: true,
      connections: { small: 4, camera: 2, cards: 2 },
    },
    { name: 'small', seconds: 1.2, loop: 'closed', connections: { small: 16 } },
    { name: 'web', seconds: 1.2, loop: 'closed', connections: { web: 16 } },
    { name: 'camera', seconds: 1.2, loop: 'closed', connections: { camera: 8 } },
    { name: 'cards', seconds: 1.2, loop: 'closed', connections: { cards: 4 } },
  ],
};

export default tune;
