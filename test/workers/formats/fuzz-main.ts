import { fuzz, targets } from './fuzz.ts';

/**
 * `npm run fuzz -- [minutes] [seed]`: tries every walker on broken files, in turns, for an hour or as long as is said.
 * Tells how many files there were and how long a megabyte took at most, and exits 1 with the seed when something did
 * not hold.
 */
const [minutes = 60, firstSeed = Date.now() % 2 ** 31] = process.argv.slice(2).map(Number);
const TURN_MS = 20_000;

const all = await targets();
const told = new Map(all.map(({ name }) => [name, { runs: 0, slowestMs: 0, finds: 0 }]));
const endsAt = Date.now() + minutes * 60_000;
for (let turn = 0; Date.now() < endsAt; turn += 1) {
  const target = all[turn % all.length];
  if (target === undefined) break;
  const seed = (firstSeed + turn) % 2 ** 31;
  const { name, runs, slowestMs, find } = fuzz(target, Math.min(TURN_MS, endsAt - Date.now()), seed);
  const sum = told.get(name);
  if (sum === undefined) continue;
  sum.runs += runs;
  sum.slowestMs = Math.max(sum.slowestMs, Math.round(slowestMs * 100) / 100);
  if (find === undefined) continue;
  sum.finds += 1;
  process.exitCode = 1;
  console.error(`${name}, seed ${seed}:\n${find}`);
}
console.log(
  `${minutes} minutes from seed ${firstSeed}; milliseconds are those of a processor over a megabyte`,
);
console.table(Object.fromEntries(told));
