// needs: browser, alone
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { AccountWorkerTime } from '../../../src/imaging/images/pools/work-history.ts';
import { type RenderRequest, Renders, type RendersOptions } from '../../../src/imaging/renders/renders.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { type ManualClock, manualClock } from '../../support/clock.ts';
import { until } from '../../support/whole-service.ts';
import {
  browserDirectories,
  browserProcesses,
  untilAtWork,
  untilEmpty,
} from '../../workers/render/processes.ts';
import { pictureOf, swatchAsset } from '../../workers/render/test-renderer.ts';

const LIME = '<!doctype html><body style="margin:0;background:lime">';
const HANGING =
  '<svg width="4096" height="4096"><filter id="f"><feTurbulence baseFrequency=".9" numOctaves="9999"/></filter><rect width="100%" height="100%" filter="url(#f)"/></svg>';

interface Door extends Renders {
  /** 200 × 100, a minute unless told. */
  start(request: Partial<RenderRequest>): ReturnType<Renders['begin']>;
  /** Its result. */
  draw(request: Partial<RenderRequest>): ReturnType<Renders['begin']>['result'];
  lines: string[];
  workerTime: AccountWorkerTime;
}

interface DoorOptions
  extends Partial<
    Pick<RendersOptions, 'queueLimit' | 'browserPath' | 'sandbox' | 'fairDrawingMs' | 'clock'>
  > {}

function openDoor(t: Test, options: DoorOptions = {}): Door {
  const lines: string[] = [];
  const workerTime = new AccountWorkerTime({ clock: systemClock, budgetMs: () => 60_000 });
  const renders = new Renders({
    threads: 1,
    queueLimit: options.queueLimit ?? 8,
    browserPath: options.browserPath ?? process.env.BROWSER_PATH ?? '',
    cacheDir: join(tmpdir(), 'darkroom-test-browser'),
    recycleAfterPages: 1_000,
    sandbox: options.sandbox ?? 'auto',
    sandboxed: true,
    ...(options.fairDrawingMs !== undefined && { fairDrawingMs: options.fairDrawingMs }),
    ...(options.clock !== undefined && { clock: options.clock }),
    memoryLimitBytes: 2 ** 32,
    workerTime,
    log: {
      info: () => {},
      warn: (line) => lines.push(`warn: ${line}`),
      error: (line) => lines.push(`error: ${line}`),
    },
  });
  t.teardown(() => renders.close());
  const start = (request: Partial<RenderRequest>) =>
    renders.begin({
      html: LIME,
      width: 200,
      height: 100,
      accountId: 'acc_a',
      assets: {},
      deadlineMs: Date.now() + 600_000,
      ...request,
    });
  const draw = (request: Partial<RenderRequest>) => start(request).result;
  return Object.assign(renders, { start, draw, lines, workerTime });
}

/** A clock that stands still, far ahead of the thread's own: only the test ends a page. */
function stoppedClock(): ManualClock {
  return manualClock(Date.now() + 3_600_000);
}

/** Waits until the page of a call is drawn: the wait of the call does not grow any more. */
async function untilDrawn(
  clock: ManualClock,
  call: Pick<ReturnType<Renders['begin']>, 'waitedMs'>,
): Promise<void> {
  await until(() => {
    const waitedMs = call.waitedMs();
    clock.advance(1);
    return call.waitedMs() === waitedMs;
  });
}

t.test('a page comes back as PNG of its size, with the assets it names by address', async (t) => {
  const door = openDoor(t);
  const page = await door.draw({
    html: `${LIME}<img src="asset://ast_red" width="100" height="100">`,
    assets: { ast_red: await swatchAsset('#ff0000') },
  });
  t.match(page, { contentType: 'image/png', width: 200, height: 100 });
  t.ok(page.timings.processMs > 0 && page.timings.encodeMs > 0);
  const picture = await pictureOf(page.data);
  t.same(picture.pixel(50, 50), [255, 0, 0, 255]);
  t.same(picture.pixel(150, 50), [0, 255, 0, 255]);
});

t.test('what finds no room is told when to come back', async (t) => {
  const door = openDoor(t, { queueLimit: 1 });
  const calls = await Promise.allSettled(Array.from({ length: 5 }, () => door.draw({})));
  const refused = calls.flatMap((call) => (call.status === 'rejected' ? [call.reason] : []));
  t.equal(refused.length, 2, 'two in the thread, one waits');
  for (const error of refused) {
    t.match(error, { code: 'provider_unavailable', status: 503, details: { reason: 'capacity' } });
    t.ok(error.retryAfterSeconds >= 1);
  }
  t.same(door.stats(), { threads: 1, busy: 0, waiting: 0 });
});

t.test('a page past its deadline is refused, and the next one is drawn', async (t) => {
  const clock = stoppedClock();
  const door = openDoor(t, { clock });
  const deadlineMs = clock.nowMs() + 600_000;
  await door.draw({ deadlineMs });
  const hanging = door.start({ html: HANGING, width: 4096, height: 4096, deadlineMs });
  await untilDrawn(clock, hanging);
  clock.advance(600_000);
  await t.rejects(hanging.result, {
    code: 'provider_unavailable',
    details: { reason: 'deadline_exceeded' },
    retryAfterSeconds: Number,
  });
  const next = await door.draw({ deadlineMs: clock.nowMs() + 600_000 });
  t.same((await pictureOf(next.data)).pixel(9, 9), [0, 255, 0, 255]);
});

t.test(
  'a page that never had its turn is told that the renderer was busy, not that it was too costly',
  async (t) => {
    const clock = stoppedClock();
    const door = openDoor(t, { queueLimit: 8, clock });
    const deadlineMs = clock.nowMs() + 600_000;
    await door.draw({ deadlineMs });
    const hanging = door.start({ html: HANGING, width: 4096, height: 4096, deadlineMs });
    await untilDrawn(clock, hanging);
    // Pages of other accounts would not wait for it.
    const behind = Array.from({ length: 3 }, () => door.draw({ deadlineMs }));
    clock.advance(600_000);
    for (const waiting of behind) {
      await t.rejects(waiting, {
        code: 'provider_unavailable',
        message: /busy with other pages/,
        details: { reason: 'capacity' },
        retryAfterSeconds: Number,
      });
    }
    await t.rejects(hanging.result, {
      code: 'provider_unavailable',
      details: { reason: 'deadline_exceeded' },
    });
  },
);

t.test(
  'a page that hangs keeps no other account waiting, and its account is isolated for a while',
  async (t) => {
    // On a busy machine the browser that relieves the first one may start late.
    const door = openDoor(t, { fairDrawingMs: 60_000 });
    await door.draw({});
    const costly = { html: HANGING, width: 4096, height: 4096, accountId: 'acc_costly' };
    const deadlineMs = Date.now() + 120_000;
    const clients = [new AbortController(), new AbortController()];
    const hanging = clients.map(({ signal }) => door.start({ ...costly, deadlineMs, signal }));
    const ended: string[] = [];
    for (const [index, { result }] of hanging.entries())
      result.catch(() => {}).finally(() => ended.push(`page ${index}`));
    for (const accountId of ['acc_b', 'acc_c', 'acc_d', 'acc_b']) {
      const { data } = await door.draw({ accountId, deadlineMs });
      t.same((await pictureOf(data)).pixel(9, 9), [0, 255, 0, 255]);
    }
    t.same(ended, [], 'both go on isolated');
    for (const client of clients) client.abort(new Error('gone'));
    for (const { result, ended } of hanging) {
      await t.rejects(result, { message: 'gone' });
      await ended;
    }
    const late = await door.draw({ accountId: 'acc_costly', deadlineMs });
    t.equal(late.width, 200, 'a cheap page of the account is drawn, apart from the others');
  },
);

t.test('pages of an account past its budget of worker time are drawn apart while others call', async (t) => {
  const door = openDoor(t);
  const browsers = () => new Set(browserProcesses().map(({ group }) => group)).size;
  door.workerTime.recordCpuTime('acc_a', 61_000);
  await door.draw({});
  t.equal(browsers(), 1, 'it has the process for itself');
  door.workerTime.recordArrival('acc_b');
  t.same((await pictureOf((await door.draw({})).data)).pixel(9, 9), [0, 255, 0, 255]);
  t.equal(browsers(), 2);
  // The first page of another account may be drawn in the spare browser, or in the usual one.
  t.same((await pictureOf((await door.draw({ accountId: 'acc_b' })).data)).pixel(9, 9), [0, 255, 0, 255]);
  t.ok(browsers() <= 3, 'no browser but the usual, the slow and the spare one');
});

t.test('a page that keeps nobody waiting is drawn for as long as its deadline lets it', async (t) => {
  const door = openDoor(t, { fairDrawingMs: 100 });
  await door.draw({});
  const alone = door.draw({ html: HANGING, width: 4096, height: 4096, deadlineMs: Date.now() + 1_500 });
  await t.rejects(alone, { code: 'provider_unavailable', details: { reason: 'deadline_exceeded' } });
});

t.test(
  'where the sandbox is required and cannot be had, renders are refused and the log says why',
  async (t) => {
    if (process.getuid?.() !== 0)
      return t.pass('no sandbox', { skip: 'only root is sure to have no sandbox' });
    const door = openDoor(t, { sandbox: 'required' });
    await t.rejects(door.draw({}), {
      code: 'provider_unavailable',
      details: { reason: 'worker_unreachable' },
    });
    // A thread tells what it logs on its own channel, so the answer may come first.
    await until(() => door.lines.length > 0);
    t.match(door.lines, [
      /^error: Renders are refused: RENDER_SANDBOX is required, but the service runs as root/,
    ]);
  },
);

t.test('a page whose client leaves is ended, and the slot behind it is free again', async (t) => {
  const door = openDoor(t);
  await door.draw({});
  const before = new Set(browserProcesses().map(({ group }) => group));
  const client = new AbortController();
  const deadlineMs = Date.now() + 120_000;
  const hanging = door.start({ html: HANGING, width: 4096, height: 4096, deadlineMs, signal: client.signal });
  const waiting = new AbortController();
  const behind = door.start({ deadlineMs, signal: waiting.signal });
  let ended = false;
  hanging.ended.then(() => {
    ended = true;
  });
  await untilAtWork();
  waiting.abort(new Error('gone'));
  client.abort(new Error('gone'));
  await t.rejects(hanging.result, { message: 'gone' });
  t.notOk(ended, 'it works on for a moment');
  await t.rejects(behind.result, { message: 'gone' });
  await Promise.all([hanging.ended, behind.ended]);
  const left = await untilEmpty(() => browserProcesses(before).filter(({ group }) => before.has(group)));
  t.same(left, [], 'nothing of the killed browser is left');
  t.same((await pictureOf((await door.draw({ accountId: 'acc_b' })).data)).pixel(9, 9), [0, 255, 0, 255]);
});

t.test('a page whose browser dies may be asked for again', async (t) => {
  const door = openDoor(t);
  await door.draw({});
  const hanging = door.draw({ html: HANGING, width: 4096, height: 4096 });
  const [browser] = browserProcesses();
  if (browser === undefined) throw new Error('There is no browser.');
  await untilAtWork();
  process.kill(-browser.group, 'SIGKILL');
  await t.rejects(hanging, { code: 'provider_unavailable', details: { reason: 'worker_unreachable' } });
  await door.draw({});
});

t.test('whoever goes away stops waiting', async (t) => {
  const door = openDoor(t);
  const client = new AbortController();
  const waiting = door.draw({ signal: client.signal });
  client.abort(new Error('gone'));
  await t.rejects(waiting, { message: 'gone' });
  await door.draw({});
});

t.test('without a browser the caller may come again, and the log says how to get one', async (t) => {
  const door = openDoor(t, { browserPath: '/nowhere/chromium' });
  await t.rejects(door.draw({}), {
    code: 'provider_unavailable',
    details: { reason: 'worker_unreachable' },
    retryAfterSeconds: 60,
  });
  await until(() => door.lines.length > 0);
  t.match(door.lines, [/^error: .*BROWSER_PATH/]);
});

t.test('closing waits for the page under way, and leaves no process and no directory', async (t) => {
  const door = openDoor(t);
  const last = door.draw({});
  await door.close();
  t.equal((await last).width, 200);
  t.same(await untilEmpty(browserProcesses), []);
  t.same(await untilEmpty(browserDirectories), []);
});
