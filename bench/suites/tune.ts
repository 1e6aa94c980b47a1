import type { LoadSuite } from '../load/suite.ts';
import { cards, transforms, webPages } from './calls.ts';

/**
 * Stages are short, because many short rounds show a difference between two settings better than a few long ones.
 * `queue` and `big` load what only some settings change; a trial of another setting leaves them out.
 */
const tune: LoadSuite = {
  name: 'tune',
  description:
    'Small pictures, pages, photographs and cards at full strength and together, in stages short enough for many rounds.',
  // The limits of the host are reached before that of the one account.
  settings: { SYNC_CALLS_PER_ACCOUNT: '1000' },
  cases: {
    small: transforms(0.03, 'op=resize&width=64&format=jpeg'),
    web: webPages,
    camera: transforms(12, 'op=resize&width=512&format=webp'),
    cards,
    big: transforms(12, 'op=rotate&angle=90&format=jpeg'),
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
    { name: 'together', seconds: 1.2, loop: 'closed', connections: { small: 8, camera: 8 } },
    { name: 'queue', seconds: 4, loop: 'open', perSecond: { web: { times: 3, stage: 'web' } } },
    { name: 'big', seconds: 3, loop: 'closed', connections: { big: 24 } },
  ],
};

export default tune;
