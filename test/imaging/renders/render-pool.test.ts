// needs: nothing
import { setImmediate as soon } from 'node:timers/promises';
import t from 'tap';
import { CallDeadline } from '../../../src/imaging/images/deadline.ts';
import { AccountWorkerTime } from '../../../src/imaging/images/pools/work-history.ts';
import type { WorkClass } from '../../../src/imaging/images/slots.ts';
import { RenderPool } from '../../../src/imaging/renders/pool.ts';
import { IdleEndingThread } from '../../../src/imaging/renders/thread.ts';
import { ApiError } from '../../../src/platform/http/errors/errors.ts';
import { manualClock } from '../../support/clock.ts';
import { drawPage, KILLED, type StandInThread, standInThread, TOO_LARGE } from './stand-in-render-thread.ts';

const FAIR_DRAWING_MS = 5_000;
const BUDGET_MS = 30_000;

/** A pool of one thread with a spare one; or, with `fairDrawingMs`, of one thread for slow pages. */
function openPool({ isSpareWarm = true, fairDrawingMs = undefined as number | undefined } = {}) {
  const clock = manualClock();
  const [first, second] = [standInThread(), standInThread()];
  const spare = new IdleEndingThread(second, 300_000, clock);
  const slowAccounts: string[] = [];
  const workerTime = new AccountWorkerTime({ clock, budgetMs: () => BUDGET_MS });
  const pool = new RenderPool({
    threads: [first],
    slotsPerThread: 2,
    queueLimit: 8,
    ...(fairDrawingMs === undefined ? { spare } : { fairDrawingMs }),
    workerTime,
    clock,
    onStopped(accountId) {
      slowAccounts.push(accountId);
      pool.withdraw(accountId);
    },
  });
  const draw = async (
    accountId: string,
    html: string,
    client = new AbortController(),
    work: WorkClass = 'call',
  ) => {
    workerTime.recordArrival(accountId);
    const createWaitError = () => new ApiError('provider_unavailable', 'The deadline has passed.');
    const deadline = new CallDeadline({ deadlineMs: 1e12, client: client.signal, clock, createWaitError });
    try {
      const drawn = await pool.draw({ html, width: 1, height: 1, accountId, assets: {}, work, deadline });
      return drawn === 'withdrawn' ? drawn : 'answered';
    } catch (error) {
      if (!/stopped after 5 s/.test(String(error))) throw error;
      return 'stopped';
    }
  };
  const warmSpare = async () => {
    const warmed = drawPage(spare);
    await soon();
    second.calls.pop()?.answer();
    await warmed;
  };
  return {
    clock,
    pool,
    first,
    second,
    slowAccounts,
    workerTime,
    draw,
    ready: isSpareWarm ? warmSpare() : null,
  };
}

const pagesOf = ({ calls }: StandInThread) => calls.map(({ html }) => html);

/** The account draws a page at once, for so long, when no other account has called for a while. */
async function drawFor(
  { clock, draw, first }: ReturnType<typeof openPool>,
  accountId: string,
  forMs: number,
): Promise<void> {
  clock.advance(2_000);
  const drawn = draw(accountId, 'usual');
  await soon();
  first.calls.at(-1)?.beginDrawing();
  clock.advance(forMs);
  first.calls.at(-1)?.answer();
  await drawn;
}

t.test('a first page is drawn apart while others are served, and keeps nobody waiting', async (t) => {
  const house = openPool({ isSpareWarm: false });
  const { clock, first, second, draw, pool, slowAccounts } = house;
  await drawFor(house, 'acc_known', 100);
  const pages = [draw('acc_new', 'heavy'), draw('acc_new', 'its second'), draw('acc_known', 'known')];
  await soon();
  t.same(pagesOf(second), ['heavy', 'its second']);
  t.same(pagesOf(first), ['usual', 'known']);
  second.calls[0]?.beginDrawing();
  clock.advance(999);
  t.notOk(second.calls[0]?.abandoned, 'it may be a usual first page');
  first.calls.at(-1)?.answer();
  const later = draw('acc_known', 'later');
  await soon();
  clock.advance(1);
  t.same(await Promise.all(pages), ['withdrawn', 'withdrawn', 'answered'], 'it takes the CPU from others');
  t.same(new Set(slowAccounts), new Set(['acc_new']));
  first.calls.at(-1)?.answer();
  t.equal(await later, 'answered');
  t.equal(pool.admission.stats().waiting, 0);
});

t.test('a page of an account that has drawn pages may take 5 s while nobody waits for it', async (t) => {
  const house = openPool();
  const { clock, first, second, draw, slowAccounts } = house;
  await house.ready;
  await drawFor(house, 'acc_a', 100);
  await drawFor(house, 'acc_b', 100);
  const page = draw('acc_a', 'page');
  await soon();
  first.calls.at(-1)?.beginDrawing();
  clock.advance(4_999);
  const other = draw('acc_b', 'b');
  await soon();
  t.same(pagesOf(second), ['b']);
  t.same(slowAccounts, []);
  clock.advance(1);
  t.equal(await page, 'withdrawn');
  second.calls.at(-1)?.answer();
  t.equal(await other, 'answered');
});

t.test('an account that has the service to itself does not start the spare browser', async (t) => {
  const house = openPool({ isSpareWarm: false });
  const { clock, first, second, draw } = house;
  const pages = [draw('acc_a', 'a1'), draw('acc_a', 'a2'), draw('acc_a', 'a3')];
  await soon();
  first.calls[0]?.beginDrawing();
  clock.advance(60_000);
  for (let at = 0; at < 3; at += 1) {
    first.calls[at]?.answer();
    await soon();
  }
  t.same(await Promise.all(pages), ['answered', 'answered', 'answered']);
  t.same(pagesOf(second), []);
});

t.test('no account has pages in all browsers', async (t) => {
  const house = openPool();
  const { first, second, draw } = house;
  await house.ready;
  await drawFor(house, 'acc_b', 100);
  const many = Array.from({ length: 4 }, (_, at) => draw('acc_a', `a${at}`));
  const other = draw('acc_b', 'b');
  await soon();
  const [its, others] = second.calls.length === 2 ? [second, first] : [first, second];
  t.same(pagesOf(its), ['a0', 'a1']);
  t.equal(pagesOf(others).at(-1), 'b');
  others.calls.at(-1)?.answer();
  t.equal(await other, 'answered');
  for (let at = 0; at < 4; at += 1) {
    its.calls[at]?.answer();
    await soon();
  }
  t.same(new Set(await Promise.all(many)), new Set(['answered']));
});

t.test('a page behind a slow one is moved to another browser, and drawn once', async (t) => {
  const house = openPool({ isSpareWarm: false });
  const { clock, first, second, draw, slowAccounts } = house;
  await drawFor(house, 'acc_slow', 50);
  await drawFor(house, 'acc_b', 50);
  clock.advance(2_000);
  const slow = draw('acc_slow', 'slow');
  await soon();
  const behind = draw('acc_b', 'behind');
  await soon();
  t.same(pagesOf(first).slice(-2), ['slow', 'behind'], 'a browser that does not run would start for longer');
  first.calls.at(-2)?.beginDrawing();
  clock.advance(299);
  t.same(slowAccounts, [], 'a usual page may take as long');
  clock.advance(1);
  t.equal(await slow, 'withdrawn');
  await soon();
  t.same(pagesOf(second), ['behind']);
  t.ok(first.calls.slice(-2).every(({ abandoned }) => abandoned));
  second.calls[0]?.answer();
  t.equal(await behind, 'answered');
  for (const call of first.calls) call.answer(KILLED);
  await soon();
});

t.test('while a browser starts no page is slow', async (t) => {
  const { clock, first, second, draw, slowAccounts } = openPool({ isSpareWarm: false });
  const pages = [draw('acc_a', 'a'), draw('acc_b', 'b')];
  await soon();
  clock.advance(10_000);
  t.same(slowAccounts, []);
  for (const call of [...first.calls, ...second.calls]) call.answer();
  t.same(await Promise.all(pages), ['answered', 'answered']);
});

t.test('where pages of other accounts take long as well, one has to take longer to be slow', async (t) => {
  const house = openPool({ isSpareWarm: false });
  const { clock, first, draw, slowAccounts } = house;
  for (const accountId of ['acc_b', 'acc_c', 'acc_d']) await drawFor(house, accountId, 400);
  for (let page = 0; page < 5; page += 1) await drawFor(house, 'acc_slow', 1_900);
  const slow = draw('acc_slow', 'slow');
  const other = draw('acc_b', 'b');
  await soon();
  first.calls.at(-2)?.beginDrawing();
  clock.advance(1_599);
  t.same(slowAccounts, [], 'four times the 400 ms of the others, whatever its own pages take');
  clock.advance(1);
  t.equal(await slow, 'withdrawn');
  await soon();
  house.second.calls[0]?.answer();
  t.equal(await other, 'answered');
});

t.test('among slow pages, one is stopped when it has had its share while others wait', async (t) => {
  const { clock, first, draw, slowAccounts } = openPool({ fairDrawingMs: FAIR_DRAWING_MS });
  const slow = draw('acc_slow', 'slow');
  await soon();
  first.calls[0]?.beginDrawing();
  clock.advance(FAIR_DRAWING_MS - 1);
  const other = draw('acc_b', 'b');
  await soon();
  t.notOk(first.calls[0]?.abandoned);
  clock.advance(1);
  t.ok(first.calls[0]?.abandoned);
  t.same(slowAccounts, ['acc_slow']);
  first.calls[0]?.answer(KILLED);
  t.equal(await slow, 'stopped');
  first.calls[1]?.answer();
  t.equal(await other, 'answered');
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
    const house = openPool({ isSpareWarm: false });
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
    t.notOk(workerTime.mustYield('acc_a'), 'the wait does not count, and a minute has passed');
    const job = draw('acc_a', 'of a job', new AbortController(), 'job');
    await soon();
    first.calls.at(-1)?.beginDrawing();
    clock.advance(BUDGET_MS);
    first.calls.at(-1)?.answer();
    await job;
    workerTime.recordArrival('acc_b');
    t.notOk(workerTime.mustYield('acc_a'), 'a job gives way by itself');
    const killed = draw('acc_a', 'killed');
    await soon();
    first.calls.at(-1)?.beginDrawing();
    clock.advance(BUDGET_MS + 1);
    first.calls.at(-1)?.answer(KILLED);
    await killed;
    workerTime.recordArrival('acc_b');
    t.ok(workerTime.mustYield('acc_a'));
  },
);

t.test('pages of an account past its budget of time wait for those of the others', async (t) => {
  const house = openPool({ fairDrawingMs: FAIR_DRAWING_MS });
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
