import type { LoadSuite } from '../load/suite.ts';
import { questions, transforms } from './calls.ts';

/** The kinds of calls whose capacity is searched for: by operation, format and megapixels. */
const capacity: LoadSuite = {
  name: 'capacity',
  description: 'The highest rate of each kind of call alone that meets the objective.',
  accounts: 4,
  cases: {
    'camera-webp': transforms('12 megapixels to 512 px.', 'op=resize&width=512&format=webp', 'camera.jpg'),
    'camera-jpeg': transforms('12 megapixels to 512 px.', 'op=resize&width=512&format=jpeg', 'camera.jpg'),
    'camera-avif': transforms('12 megapixels to 512 px.', 'op=resize&width=512&format=avif', 'camera.jpg'),
    'page-webp': transforms('2 megapixels to 800 px.', 'op=resize&width=800&format=webp', 'page.jpg'),
    'graphic-png': transforms(
      'A graphic of 1 megapixel, as PNG.',
      'op=resize&width=512&format=png',
      'graphic.png',
    ),
    'small-jpeg': transforms('200 px to 64 px.', 'op=resize&width=64&format=jpeg', 'small.jpg'),
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
