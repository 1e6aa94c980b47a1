// needs: browser, alone
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { findBrowser } from '../../../workers/render/executable.ts';
import { manualClock } from '../../support/clock.ts';
import { browserDirectories, browserProcesses, untilEmpty } from './processes.ts';
import { BROWSER_CACHE, openTestRenderer } from './test-renderer.ts';

const ROUNDS = Number(process.env.KILL_ROUNDS ?? 9);
const LIME = '<!doctype html><body style="margin:0;background:lime">';
const SLOW = '<div style="position:absolute;inset:0;backdrop-filter:blur(9px)"></div>'.repeat(6);

t.test('a browser that is killed while it draws ends its call, and is replaced', async (t) => {
  const renderer = openTestRenderer(t);
  const groups = new Set<number>();
  for (let round = 0; round < ROUNDS; round += 1) {
    await renderer.draw(LIME);
    for (const { group } of browserProcesses()) groups.add(group);
    const rendering = renderer.render(SLOW, { width: 1200, height: 630, accountId: `acc_${round % 3}` });
    // The first process, those that draw pages, or the whole family, in turn; earlier or later in the render.
    for (let turn = 0; turn < round % 7; turn += 1) await new Promise((resolve) => setTimeout(resolve, 10));
    for (const pid of victimsOf(browserProcesses(), round)) kill(pid);
    const result = await rendering;
    if ('reason' in result) t.equal(result.reason, 'crash', `round ${round}`);
    else t.same([result.width, result.height], [1200, 630], `round ${round} was drawn all the same`);
  }
  t.same((await renderer.draw(LIME)).pixel(100, 50), [0, 255, 0, 255]);
  await renderer.keeper.stop();
  t.same(await untilEmpty(() => browserProcesses(groups)), [], 'no process is left, dead or alive');
  t.same(await browserDirectories(), [], 'no directory is left');
});

t.test('a browser that dies while nobody draws is replaced before anybody asks', async (t) => {
  const clock = manualClock();
  const renderer = openTestRenderer(t, { clock });
  await renderer.keeper.warm();
  // One that died young would not be replaced at once.
  clock.advance(1_000);
  const [first] = browserProcesses();
  for (const { pid } of browserProcesses()) kill(pid);
  const alive = () => browserProcesses().filter(({ group, zombie }) => group !== first?.group && !zombie);
  t.same(await untilEmpty(() => (alive().length > 0 ? [] : ['no browser yet'])), []);
  t.same((await renderer.draw(LIME)).pixel(100, 50), [0, 255, 0, 255]);
});

t.test('a browser that drew its number of pages makes room for a fresh one', async (t) => {
  const renderer = openTestRenderer(t, { recycleAfterPages: 3 });
  const seen = new Set<number>();
  // The ninth page would bring a fourth browser, which may be there before anybody looks.
  for (let page = 0; page < 8; page += 1) {
    t.same((await renderer.draw(LIME)).pixel(100, 50), [0, 255, 0, 255]);
    const [browser] = browserProcesses();
    if (browser !== undefined) seen.add(browser.group);
  }
  t.equal(seen.size, 3);
});

t.test('where no browser starts, the render says so and the operator reads how to get one', async (t) => {
  const missing = openTestRenderer(t, { browserPath: '/nowhere/chromium' });
  t.match(await missing.render(LIME), { kind: 'render_failure', reason: 'no_browser' });
  t.match(missing.notices, [/^error: .*BROWSER_PATH is "\/nowhere\/chromium"/]);
  const broken = openTestRenderer(t, { browserPath: '/bin/false' });
  t.match(await broken.render(LIME), { kind: 'render_failure', reason: 'no_browser' });
  t.match(broken.notices, [/^error: .*\/bin\/false did not start/]);
  t.same(await untilEmpty(browserDirectories), []);
});

t.test('a browser that crashes as it starts is started once more, and no more than once', async (t) => {
  const path = await findBrowser(process.env.BROWSER_PATH ?? '', BROWSER_CACHE);
  const folder = t.testdir();
  /** A browser whose first starts end at a fault. */
  async function crashing(starts: number): Promise<string> {
    const count = join(folder, `starts-${starts}`);
    const script = join(folder, `browser-${starts}`);
    const lines = [
      '#!/bin/sh',
      `echo start >> ${count}`,
      `[ "$(wc -l < ${count})" -le ${starts} ] && kill -SEGV $$`,
      `exec ${path} "$@"`,
    ];
    await writeFile(script, lines.join('\n'), { mode: 0o755 });
    return script;
  }
  const once = openTestRenderer(t, { browserPath: await crashing(1) });
  t.same((await once.draw(LIME)).pixel(100, 50), [0, 255, 0, 255]);
  t.match(once.notices, [/^warn: The browser is started again: .* did not start/, /^info: Chromium/]);
  const twice = openTestRenderer(t, { browserPath: await crashing(2) });
  t.match(await twice.render(LIME), { kind: 'render_failure', reason: 'no_browser' });
  t.match(twice.notices, [/^warn: /, /^error: Renders are refused: /]);
  t.same((await twice.draw(LIME)).pixel(100, 50), [0, 255, 0, 255], 'the next call tries again');
});

function victimsOf(processes: ReturnType<typeof browserProcesses>, round: number): number[] {
  const kinds = ['browser', 'renderer', undefined];
  const kind = kinds[round % kinds.length];
  return processes.filter(({ type }) => kind === undefined || type === kind).map(({ pid }) => pid);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended on its own with the ones before it.
  }
}
