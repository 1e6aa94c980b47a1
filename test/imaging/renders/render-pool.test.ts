// needs: nothing
import { setImmediate as soon } from 'node:timers/promises';
import t from 'tap';
import { CallDeadline } from '../../../src/imaging/images/deadline.ts';
import { AccountWorkerTime } from '../../../src/imaging/images/pools/work-history.ts';
import type { WorkClass } from '../../../src/imaging/images/slots.ts';
import { RenderPool } from '../../../src/imaging/renders/pool.ts';
import { ApiError } from '../../../src/platform/http/errors/errors.ts';
import { manualClock } from '../../support/clock.ts';
import { KILLED, type StandInThread, standInThread, TOO_LARGE } from './stand-in-render-thread.ts';

const FAIR_DRAWING_MS = 5_000;
const NEWCOMER_DRAWING_MS = 1_000;
const BUDGET_MS = 30_000;

/** A pool of one thread, or with another one, and one that may relieve it. */
function openPool({
  isReliefReady = true,
  others = [] as StandInThread[],
  newcomerDrawingMs = Number.POSITIVE_INFINITY,
} = {}) {
  const clock = manualClock();
  const [first, relief] = [standInThread(), standInThread()];
  const slowAccounts: string[] = [];
  const state = { isReliefReady, asked: 0 };
  const workerTime = new AccountWorkerTime({ clock, budgetMs: () => BUDGET_MS });
  const pool = new RenderPool({
    threads: [first, ...others],
    slotsPerThread: 2,
    queueLimit: 8,
    fairDrawingMs: FAIR_DRAWING_MS,
    newcomerDrawingMs,
    workerTime,
    clock,
    onStopped(accountId) {
      slowAccounts.push(accountId);
      pool.withdraw(accountId);
    },
    relieve() {
      state.asked += 1;
      if (!state.isReliefReady) return null;
      state.isReliefReady = false;
      return relief;
    },
  });
  const draw = async (
    accountId: string,
    html: string,
    client = new AbortController(),
    work: WorkClass = 'call',
  ) => {
    workerTime.recordArrival(accountId);
    const late = () => new ApiError('provider_unavailable', 'The deadline has passed.');
    const deadline = new CallDeadline({ deadlineMs: 1e12, client: client.signal, clock, late });
    try {
      const drawn = await pool.draw({ html, width: 1, height: 1, accountId, assets: {}, work, deadline });
      return drawn === 'withdrawn' ? drawn : 'answered';
    } catch (error) {
      if (!/stopped after 5 s/.test(String(error))) throw error;
      return 'stopped';
    }
  };
  return { clock, pool, first, relief, slowAccounts, state, workerTime, draw };
}

const pagesOf = ({ calls }: StandInThread) => calls.map(({ html }) => html);

/** The page is drawn at once, for so long. */
async function drawFor(
  { clock, draw, first }: ReturnType<typeof openPool>,
  accountId: string,
  forMs: number,
): Promise<void> {
  const drawn = draw(accountId, 'usual');
  await soon();
  first.calls.at(-1)?.beginDrawing();
  clock.advance(forMs);
  first.calls.at(-1)?.answer();
  await drawn;
}

t.test('a page that is slow while another waits is taken out, and the other is drawn at once', async (t) => {
  const house = openPool();
  const { clock, first, relief, slowAccounts, draw, pool } = house;
  const slow = draw('acc_slow', 'slow');
  const second = draw('acc_slow', 'its second');
  const [b, c] = [draw('acc_b', 'b'), draw('acc_c', 'c')];
  await soon();
  first.calls[0]?.beginDrawing();
  clock.advance(299);
  t.equal(house.state.asked, 0, 'a usual page may take as long');
  clock.advance(1);
  t.equal(await slow, 'withdrawn');
  t.equal(await second, 'withdrawn');
  t.same(slowAccounts, ['acc_slow']);
  await soon();
  t.same(pagesOf(first), ['slow', 'its second']);
  t.ok(first.calls.every(({ abandoned }) => abandoned));
  t.same(pagesOf(relief), ['b', 'c'], 'nobody waits for the slow page');
  t.same(pool.threads(), [relief]);
  for (const call of relief.calls) call.answer();
  t.same(await Promise.all([b, c]), ['answered', 'answered']);
});

t.test('a page behind the slow one in the same thread is moved, and drawn once', async (t) => {
  const { clock, first, relief, draw } = openPool();
  const slow = draw('acc_slow', 'slow');
  const behind = draw('acc_b', 'behind');
  await soon();
  t.same(pagesOf(first), ['slow', 'behind']);
  first.calls[0]?.beginDrawing();
  clock.advance(300);
  await slow;
  await soon();
  t.same(pagesOf(relief), ['behind']);
  relief.calls[0]?.beginDrawing();
  relief.calls[0]?.answer();
  t.equal(await behind, 'answered');
  first.calls[0]?.answer(KILLED);
  first.calls[1]?.answer(KILLED);
  await soon();
});

t.test('a slow page that keeps nobody, or only its own account, waiting is drawn to its end', async (t) => {
  const { clock, first, draw, state } = openPool();
  const slow = draw('acc_slow', 'slow');
  const own = draw('acc_slow', 'own');
  await soon();
  first.calls[0]?.beginDrawing();
  clock.advance(60_000);
  t.equal(state.asked, 0);
  for (const call of first.calls) call.answer();
  t.same(await Promise.all([slow, own]), ['answered', 'answered']);
});

t.test('a page keeps nobody waiting who is in another thread', async (t) => {
  const second = standInThread();
  const { clock, first, draw, state } = openPool({ others: [second] });
  const slow = draw('acc_slow', 'slow');
  await soon();
  first.calls[0]?.beginDrawing();
  const other = draw('acc_b', 'b');
  await soon();
  t.same(pagesOf(second), ['b']);
  clock.advance(1_000);
  t.equal(state.asked, 0, 'its own browser turns to it');
  for (const call of [...first.calls, ...second.calls]) call.answer();
  t.same(await Promise.all([slow, other]), ['answered', 'answered']);
});

t.test('while a browser starts no page is slow', async (t) => {
  const { clock, first, draw, state } = openPool();
  const page = draw('acc_a', 'a');
  const other = draw('acc_b', 'b');
  await soon();
  clock.advance(10_000);
  t.equal(state.asked, 0);
  for (const call of first.calls) call.answer();
  await Promise.all([page, other]);
});

t.test('where pages of other accounts take long as well, one has to take longer to be slow', async (t) => {
  const house = openPool();
  const { clock, first, relief, draw, state } = house;
  for (const accountId of ['acc_b', 'acc_c', 'acc_d']) await drawFor(house, accountId, 400);
  for (let page = 0; page < 5; page += 1) await drawFor(house, 'acc_slow', 1_900);
  const slow = draw('acc_slow', 'slow');
  const other = draw('acc_b', 'b');
  await soon();
  first.calls.at(-2)?.beginDrawing();
  clock.advance(1_599);
  t.equal(state.asked, 0, 'four times the 400 ms of the others, whatever its own pages take');
  clock.advance(1);
  t.equal(await slow, 'withdrawn');
  await soon();
  relief.calls[0]?.answer();
  await other;
});

t.test('without relief the page goes on until there is one', async (t) => {
  const { clock, first, relief, draw, state, pool } = openPool({ isReliefReady: false });
  const slow = draw('acc_slow', 'slow');
  const other = draw('acc_b', 'b');
  await soon();
  first.calls[0]?.beginDrawing();
  clock.advance(1_000);
  t.ok(state.asked > 0);
  t.same(pool.threads(), [first]);
  state.isReliefReady = true;
  pool.review();
  t.equal(await slow, 'withdrawn');
  await soon();
  relief.calls[0]?.answer();
  t.equal(await other, 'answered');
});

t.test('without relief at all the page is stopped when it has had its share', async (t) => {
  const { clock, first, draw, slowAccounts } = openPool({ isReliefReady: false });
  const slow = draw('acc_slow', 'slow');
  const other = draw('acc_b', 'b');
  await soon();
  first.calls[0]?.beginDrawing();
  clock.advance(300);
  clock.advance(FAIR_DRAWING_MS - 300);
  t.ok(first.calls[0]?.abandoned);
  t.same(slowAccounts, ['acc_slow']);
  first.calls[0]?.answer(KILLED);
  t.equal(await slow, 'stopped');
  first.calls[1]?.answer();
  t.equal(await other, 'answered');
});

t.test('without relief the first page of an account makes room sooner, and is drawn elsewhere', async (t) => {
  const house = openPool({ isReliefReady: false, newcomerDrawingMs: NEWCOMER_DRAWING_MS });
  const { clock, first, draw, slowAccounts } = house;
  await drawFor(house, 'acc_known', 100);
  for (const accountId of ['acc_new', 'acc_known']) {
    const page = draw(accountId, 'page');
    const other = draw('acc_b', 'b');
    await soon();
    const [drawn, behind] = first.calls.slice(-2);
    drawn?.beginDrawing();
    clock.advance(NEWCOMER_DRAWING_MS - 1);
    t.notOk(drawn?.abandoned, 'it may be a usual first page');
    clock.advance(1);
    t.equal(drawn?.abandoned, accountId === 'acc_new', accountId);
    drawn?.answer(accountId === 'acc_new' ? KILLED : undefined);
    t.equal(await page, accountId === 'acc_new' ? 'withdrawn' : 'answered');
    behind?.answer();
    await other;
  }
  t.same(new Set(slowAccounts), new Set(['acc_new']));
});

t.test('a page that needs too much memory isolates its account, however soon it was killed', async (t) => {
  const { first, draw, slowAccounts } = openPool();
  const page = draw('acc_large', 'large');
  await soon();
  first.calls[0]?.beginDrawing();
  first.calls[0]?.answer(TOO_LARGE);
  t.equal(await page, 'answered');
  t.same(slowAccounts, ['acc_large']);
});

t.test(
  'the time in which pages are drawn is counted for their accounts, whatever came of them',
  async (t) => {
    const house = openPool({ isReliefReady: false });
    const { clock, first, workerTime, draw } = house;
    await drawFor(house, 'acc_a', BUDGET_MS - 1);
    const late = draw('acc_a', 'late');
    await soon();
    clock.advance(60_000);
    first.calls.at(-1)?.beginDrawing();
    clock.advance(1);
    first.calls.at(-1)?.answer(KILLED);
    await late;
    workerTime.recordArrival('acc_b');
    t.notOk(workerTime.isSpent('acc_a'), 'the wait does not count, and a minute has passed');
    const job = draw('acc_a', 'of a job', new AbortController(), 'job');
    await soon();
    first.calls.at(-1)?.beginDrawing();
    clock.advance(BUDGET_MS);
    first.calls.at(-1)?.answer();
    await job;
    workerTime.recordArrival('acc_b');
    t.notOk(workerTime.isSpent('acc_a'), 'a job gives way by itself');
    const killed = draw('acc_a', 'killed');
    await soon();
    first.calls.at(-1)?.beginDrawing();
    clock.advance(BUDGET_MS + 1);
    first.calls.at(-1)?.answer(KILLED);
    await killed;
    workerTime.recordArrival('acc_b');
    t.ok(workerTime.isSpent('acc_a'));
  },
);

t.test('pages of an account past its budget of time wait for those of the others', async (t) => {
  const house = openPool({ isReliefReady: false });
  const { first, draw } = house;
  await drawFor(house, 'acc_a', BUDGET_MS + 1);
  const drawn = [draw('acc_b', 'b1'), draw('acc_b', 'b2')];
  await soon();
  drawn.push(draw('acc_a', 'a'), draw('acc_b', 'b3'), draw('acc_b', 'b4'));
  for (let at = 1; at <= 5; at += 1) {
    await soon();
    first.calls[at]?.answer();
    await soon();
  }
  await Promise.all(drawn);
  t.same(pagesOf(first), ['usual', 'b1', 'b2', 'b3', 'b4', 'a']);
});
