import { POINTS } from './failpoints.ts';
import { round } from './rounds.ts';
import { checkStates } from './states.ts';

/**
 * `npm run chaos [seeds] [first seed]`: compares STATE_RUNS random sequences (100) with the state tables; then a process
 * dies at each named step of a job's life, so often with other seeds. With MONGODB_URL the documents lie on that server.
 * Prints what was broken, with the seed that breaks it again.
 */
const [seeds = '100', first = '1'] = process.argv.slice(2);
let rounds = 0;
let broken = 0;
const runs = Number(process.env.STATE_RUNS ?? 100);
await checkStates({ runs, seed: Number(first), mongodbUrl: process.env.MONGODB_URL }).then(
  () => console.log(`${runs} sequences follow the state tables`),
  (error: Error) => {
    broken += 1;
    console.log(error.stack);
  },
);
for (const point of Object.keys(POINTS)) {
  for (let seed = Number(first); seed < Number(first) + Number(seeds); seed += 1) {
    const sentences = await round(seed, point, process.env.MONGODB_URL).catch((error: Error) => [
      `the round itself failed: ${error.stack}`,
    ]);
    rounds += 1;
    if (sentences.length === 0) continue;
    broken += 1;
    console.log(`seed ${seed}, a death at "${point}":\n  ${sentences.join('\n  ')}`);
  }
  console.log(`${rounds} rounds, ${broken} with a broken promise (up to "${point}")`);
}
process.exit(broken === 0 ? 0 : 1);
