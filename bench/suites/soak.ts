import type { LoadSuite } from '../load/suite.ts';
import { agents, cards, questions, transforms, webPages } from './calls.ts';

const hours = Number(process.env.BENCH_SOAK_HOURS ?? 2);

const soak: LoadSuite = {
  name: 'soak',
  description: `${hours} hours (BENCH_SOAK_HOURS) at about half of a small host's strength: memory has to stay flat.`,
  cases: {
    web: webPages,
    agents,
    cards,
    questions,
    camera: transforms(12, 'op=resize&width=512&format=webp'),
  },
  stages: [
    {
      name: 'soak',
      seconds: Math.max(10, Math.round(hours * 3600)),
      loop: 'open',
      perSecond: { web: 5, agents: 2, cards: 0.5, questions: 2, camera: 1 },
    },
  ],
  thresholds: [{ stage: 'soak', case: 'web', measure: 'errorShare', atMost: 0.001 }],
  mostMegabytesPerHour: 20,
};

export default soak;
