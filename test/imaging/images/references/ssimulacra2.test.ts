// needs: nothing
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { computeSsimulacra2 } from '../../../../workers/image/likeness/ssimulacra2.ts';
import { PAIRS, pairNamed } from './pairs.ts';

/** What the reference found; ssimulacra2.ts says how. */
const { scores } = JSON.parse(readFileSync(join(import.meta.dirname, 'ssimulacra2.json'), 'utf8')) as {
  scores: Record<string, number>;
};

for (const name of Object.keys(PAIRS)) {
  t.test(`${name}: the score that the reference finds`, async (t) => {
    const { model, copy } = pairNamed(name);
    const score = computeSsimulacra2(model, copy);
    const expected = scores[name] ?? Number.NaN;
    t.ok(Math.abs(score - expected) < 0.15, `${score} for ${expected}`);
  });
}

t.test('equal pictures have 100, with alpha as without', async (t) => {
  for (const channels of [1, 2, 3, 4]) {
    const data = Uint8Array.from({ length: 24 * 9 * channels }, (_, index) => (index * 7) % 256);
    const picture = { data, width: 24, height: 9, channels };
    t.equal(computeSsimulacra2(picture, { ...picture, data: data.slice() }), 100, `${channels} channels`);
  }
});

t.test('what is under full transparency does not count, what shows on one ground alone does', async (t) => {
  const picture = (colour: number, alpha: number) => ({
    data: Uint8Array.from({ length: 32 * 32 * 4 }, (_, index) => (index % 4 === 3 ? alpha : colour)),
    width: 32,
    height: 32,
    channels: 4,
  });
  t.equal(computeSsimulacra2(picture(0, 0), picture(255, 0)), 100);
  t.ok(
    computeSsimulacra2(picture(26, 255), picture(26, 0)) < 50,
    'as dark as the dark ground, but not as the light one',
  );
});
