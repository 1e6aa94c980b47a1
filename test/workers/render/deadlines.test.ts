// needs: browser, alone
import t from 'tap';
import { browserProcesses, untilEmpty } from './processes.ts';
import { openTestRenderer } from './test-renderer.ts';

const renderer = openTestRenderer(t);
const LIME = '<!doctype html><body style="margin:0;background:lime">';
const LARGE = { width: 4096, height: 4096 };

const turbulence =
  '<svg width="4096" height="4096"><filter id="f"><feTurbulence baseFrequency=".9" numOctaves="9999"/></filter><rect width="100%" height="100%" filter="url(#f)"/></svg>';

/** Pages that cost more than they are worth. A fast machine may draw some of them in time: then that is right, too. */
const COSTLY = {
  turbulence,
  'turbulence that moves': turbulence.replace(
    '/></filter>',
    '><animate attributeName="seed" from="0" to="999" dur="1s" repeatCount="indefinite"/></feTurbulence></filter>',
  ),
  'backdrop filters':
    '<div style="position:absolute;inset:0;backdrop-filter:blur(90px) hue-rotate(9deg)"></div>'.repeat(400),
  'blurred shadows': `<div style="width:4000px;height:4000px;box-shadow:${Array(300).fill('0 0 900px red').join()}"></div>`,
  'a deep document': '<div>'.repeat(50_000),
  'a wide document': '<i>x</i>'.repeat(32_000),
  'nested tables': '<table><td>'.repeat(2_000),
  'nested grids': '<div style="display:grid;grid-template-columns:repeat(auto-fit,minmax(1px,1fr))">'.repeat(
    500,
  ),
  'selectors that look everywhere': `<style>${':has(*) '.repeat(40)}i{color:red}</style>${'<b><i>'.repeat(2_000)}`,
  'svg that uses itself tenfold': `<svg>${Array.from(
    { length: 9 },
    (_, level) =>
      `<g id="g${level + 1}">${level === 0 ? '<rect width="9" height="9"/>' : `<use href="#g${level}"/>`.repeat(10)}</g>`,
  ).join('')}</svg>`,
};

t.test('a page that cannot be drawn is killed at its deadline, and the next one is drawn', async (t) => {
  await renderer.draw(LIME);
  const before = new Set(browserProcesses().map(({ group }) => group));
  const result = await renderer.render(turbulence, { ...LARGE, deadlineMs: Date.now() + 1_500 });
  t.match(result, { kind: 'render_failure', reason: 'deadline' });
  const left = await untilEmpty(() => browserProcesses(before).filter(({ group }) => before.has(group)));
  t.same(left, [], 'nothing of the killed browser is left');
  t.same((await renderer.draw(LIME)).pixel(100, 50), [0, 255, 0, 255]);
});

t.test('whatever a page costs, its call ends and the next one is right', async (t) => {
  for (const [name, html] of Object.entries(COSTLY)) {
    const result = await renderer.render(html, { ...LARGE, deadlineMs: Date.now() + 2_000 });
    if ('reason' in result) t.equal(result.reason, 'deadline', `${name} was killed`);
    else t.same([result.width, result.height], [4096, 4096], `${name} was drawn`);
    const next = await renderer.draw(LIME);
    t.same(next.pixel(100, 50), [0, 255, 0, 255], `the page after ${name}`);
  }
});

t.test('a call whose deadline has passed is not drawn, and costs nobody the browser', async (t) => {
  await renderer.draw(LIME);
  const [browser] = browserProcesses();
  t.match(await renderer.render(LIME, { deadlineMs: Date.now() - 1 }), { reason: 'deadline' });
  t.equal(browserProcesses()[0]?.pid, browser?.pid);
});

t.test('a page that waits behind a hanging one is drawn by the next browser', async (t) => {
  const hanging = renderer.render(turbulence, { ...LARGE, deadlineMs: Date.now() + 1_000 });
  const behind = renderer.draw(LIME, { accountId: 'acc_b' });
  t.match(await hanging, { reason: 'deadline' });
  t.same((await behind).pixel(100, 50), [0, 255, 0, 255]);
});

t.test('a page whose client leaves is killed long before its deadline', async (t) => {
  await renderer.draw(LIME);
  const before = new Set(browserProcesses().map(({ group }) => group));
  const client = new AbortController();
  const deadlineMs = Date.now() + 120_000;
  const hanging = renderer.render(
    turbulence,
    { ...LARGE, deadlineMs },
    { clientGone: client.signal, onDrawing: () => client.abort() },
  );
  t.match(await hanging, { reason: 'deadline', message: /Nobody waits/ });
  t.ok(Date.now() < deadlineMs);
  const left = await untilEmpty(() => browserProcesses(before).filter(({ group }) => before.has(group)));
  t.same(left, [], 'nothing of the killed browser is left');
  t.same((await renderer.draw(LIME)).pixel(100, 50), [0, 255, 0, 255]);
});

t.test(
  'a client that leaves a page which is soon done, or has not begun, costs nobody the browser',
  async (t) => {
    await renderer.draw(LIME);
    const [browser] = browserProcesses();
    t.match(await renderer.render(LIME, {}, { clientGone: AbortSignal.abort() }), { reason: 'deadline' });
    t.equal(browserProcesses()[0]?.pid, browser?.pid);
  },
);
