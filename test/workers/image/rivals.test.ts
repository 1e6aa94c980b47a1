// needs: nothing
import t from 'tap';
import { runRivals, type TakeTurn } from '../../../workers/image/search/rivals.ts';
import { WorkClock } from '../../../workers/image/search/time.ts';

/** A search that expects a size after trying a sample, and makes a file of another size in a given time. */
interface Search {
  name: string;
  expects?: number;
  makes: number;
  /** The time of its two trials. */
  takesMs?: number;
  /** How much longer it takes than it expects. */
  lateMs?: number;
}

const DEADLINE_MS = 9_000;

/**
 * Runs searches on a clock that only their work moves. Returns the order in which they worked, and what each of them
 * made.
 */
async function runRace(searches: readonly Search[]) {
  let now = 0;
  const order: string[] = [];
  const deadlines: Record<string, number> = {};
  const search =
    ({ name, expects, makes, takesMs = 1_000, lateMs = 0 }: Search) =>
    async (takeTurn: TakeTurn): Promise<number> => {
      if (expects !== undefined) {
        const turn = await takeTurn({ bytes: expects, trialCpuMs: takesMs / 2 }).catch(() => null);
        if (turn === null) return Number.POSITIVE_INFINITY;
        deadlines[name] = turn.deadlineMs;
        if (now + takesMs + lateMs > turn.deadlineMs) {
          now = turn.deadlineMs;
          return Number.POSITIVE_INFINITY;
        }
      }
      now += takesMs + lateMs;
      order.push(name);
      return makes;
    };
  const clock = new WorkClock({ nowMs: () => now, cpuMs: () => now });
  const options = { clock, deadlineMs: DEADLINE_MS, bytesOf: (bytes: number) => bytes };
  const { results: made, wasHurried } = await runRivals(searches.map(search), options);
  return { made, order, deadlines, wasHurried };
}

t.test('the search with the smallest expected file continues, and surely larger ones stop', async (t) => {
  const { made, order, wasHurried } = await runRace([
    { name: 'jpeg', expects: 200, makes: 210 },
    { name: 'webp', expects: 190, makes: 195 },
    { name: 'avif', expects: 100, makes: 110 },
  ]);
  t.same(order, ['avif']);
  t.notOk(wasHurried);
  t.same(made, [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 110], 'in the order of the searches');
});

t.test('a search that may still make a smaller file continues too', async (t) => {
  const { made, order } = await runRace([
    { name: 'webp', expects: 105, makes: 90 },
    { name: 'avif', expects: 100, makes: 101 },
  ]);
  t.same(order, ['avif', 'webp']);
  t.same(made, [90, 101]);
});

t.test('more searches continue if the expected sizes were wrong', async (t) => {
  const { order } = await runRace([
    { name: 'avif', expects: 170, makes: 25 },
    { name: 'webp', expects: 22, makes: 94 },
  ]);
  t.same(order, ['webp', 'avif']);
});

t.test('a search without a sample ends at once, and its file is compared with the others', async (t) => {
  const { order } = await runRace([
    { name: 'png', makes: 80 },
    { name: 'avif', expects: 160, makes: 90 },
    { name: 'webp', expects: 85, makes: 70 },
  ]);
  t.same(order, ['png', 'webp']);
});

t.test('one search that is late does not end the others', async (t) => {
  const { made, deadlines } = await runRace([
    { name: 'jpeg', expects: 200, makes: 210, takesMs: 500 },
    { name: 'avif', expects: 100, makes: 90, takesMs: 6_500, lateMs: 3_000 },
  ]);
  t.equal(deadlines.avif, 8_500, 'the time of the quicker one is kept');
  t.same(made, [210, Number.POSITIVE_INFINITY]);
});

t.test('with time for few trials, the quick searches go first', async (t) => {
  const slow = { name: 'avif', expects: 100, makes: 300, takesMs: 6_200 };
  const race = await runRace([{ name: 'jpeg', expects: 200, makes: 210 }, slow]);
  const { made, order, deadlines } = race;
  t.same(order, ['jpeg', 'avif']);
  t.ok(race.wasHurried);
  t.equal(deadlines.avif, 8_500, 'a file that is there is answered in time');
  t.same(made, [210, 300]);
  const hurried = await runRace([{ name: 'jpeg', expects: 200, makes: 210, takesMs: 5_000 }, slow]);
  t.same(hurried.order, ['jpeg'], 'and before the others try a sample');
  t.ok(hurried.wasHurried);
});
