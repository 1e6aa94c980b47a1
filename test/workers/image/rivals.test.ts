// needs: nothing
import t from 'tap';
import { runRivals, type TakeTurn } from '../../../workers/image/search/rivals.ts';

/** A search that expects a size of a sample, and makes a file of another size in some time. */
interface Search {
  name: string;
  expects?: number;
  makes: number;
  takesMs?: number;
}

const DEADLINE_MS = 9_000;

/** Runs searches on a clock that only their work moves. Tells in which order they worked, and what each made. */
async function raced(searches: readonly Search[]) {
  let now = 0;
  const order: string[] = [];
  const deadlines: Record<string, number> = {};
  const search =
    ({ name, expects, makes, takesMs = 1_000 }: Search) =>
    async (takeTurn: TakeTurn): Promise<number> => {
      if (expects !== undefined) {
        const turn = await takeTurn(expects).catch(() => null);
        if (turn === null) return Number.POSITIVE_INFINITY;
        deadlines[name] = turn.deadlineMs;
        if (now + takesMs > turn.deadlineMs) {
          now = turn.deadlineMs;
          return Number.POSITIVE_INFINITY;
        }
      }
      now += takesMs;
      order.push(name);
      return makes;
    };
  const options = { nowMs: () => now, deadlineMs: DEADLINE_MS, bytesOf: (bytes: number) => bytes };
  const made = await runRivals(searches.map(search), options);
  return { made, order, deadlines };
}

t.test('the search with the smallest expected file goes on, and those surely larger do not', async (t) => {
  const { made, order } = await raced([
    { name: 'jpeg', expects: 200, makes: 210 },
    { name: 'webp', expects: 190, makes: 195 },
    { name: 'avif', expects: 100, makes: 110 },
  ]);
  t.same(order, ['avif']);
  t.same(made, [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 110], 'in the order of the searches');
});

t.test('a search that may still make a smaller file goes on too', async (t) => {
  const { made, order } = await raced([
    { name: 'webp', expects: 105, makes: 90 },
    { name: 'avif', expects: 100, makes: 101 },
  ]);
  t.same(order, ['avif', 'webp']);
  t.same(made, [90, 101]);
});

t.test('where the expectations are wrong, more searches go on', async (t) => {
  const { order } = await raced([
    { name: 'avif', expects: 170, makes: 25 },
    { name: 'webp', expects: 22, makes: 94 },
  ]);
  t.same(order, ['webp', 'avif']);
});

t.test('a search without a sample ends at once, and is compared with the others', async (t) => {
  const { order } = await raced([
    { name: 'png', makes: 80 },
    { name: 'avif', expects: 160, makes: 90 },
    { name: 'webp', expects: 85, makes: 70 },
  ]);
  t.same(order, ['png', 'webp']);
});

t.test(
  'the first search leaves a third of the time, and one that is late does not end the others',
  async (t) => {
    const { made, deadlines } = await raced([
      { name: 'jpeg', expects: 200, makes: 210 },
      { name: 'avif', expects: 100, makes: 90, takesMs: 7_000 },
    ]);
    t.equal(deadlines.avif, 6_000);
    t.same(made, [210, Number.POSITIVE_INFINITY]);
  },
);
