import { fuzz, targets } from './fuzz.ts';

/**
 * `npm run fuzz -- [minutes] [seed]`: tries every walker in turn on broken files, by default for an hour. Prints
 * the number of files and the longest time per megabyte. Exits 1, with the seed, when an assertion failed.
 */
const [minutes = 60, firstSeed = Date.now() % 2 ** 31] = process.argv.slice(2).map(Number);
const TURN_MS = 20_000;

const all = await targets();
const totals = new Map(all.map(({ name }) => [name, { runs: 0, slowestMs: 0, finds: 0 }]));
const endsAt = Date.now() + minutes * 60_000;
for (let turn = 0; Date.now() < endsAt; turn += 1) {
  const target = all[turn % all.length];
  if (target === undefined) break;
  const seed = (firstSeed + turn) % 2 ** 31;
  const { name, runs, slowestMs, find } = fuzz(target, Math.min(TURN_MS, endsAt - Date.now()), seed);
  const total = totals.get(name);
  if (total === undefined) continue;
  total.runs += runs;
  total.slowestMs = Math.max(total.slowestMs, Math.round(slowestMs * 100) / 100);
  if (find === undefined) continue;
  total.finds += 1;
  process.exitCode = 1;
  console.error(`${name}, seed ${seed}:\n${find}`);
}
console.log(
  `${minutes} minutes from seed ${firstSeed}; milliseconds are those of a processor over a megabyte`,
);
console.table(Object.fromEntries(totals));
