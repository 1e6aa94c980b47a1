// needs: nothing
import { setImmediate as soon } from 'node:timers/promises';
import t from 'tap';
import { IdleEndingThread } from '../../../src/imaging/renders/thread.ts';
import { manualClock } from '../../support/clock.ts';
import { drawPage, KILLED, standInThread } from './stand-in-render-thread.ts';

function openSpare() {
  const clock = manualClock();
  const thread = standInThread();
  const spare = new IdleEndingThread(thread, 300_000, clock);
  const draw = async (answer?: typeof KILLED) => {
    const drawn = drawPage(spare);
    await soon();
    thread.calls.at(-1)?.answer(answer);
    await drawn;
  };
  return { clock, thread, spare, draw };
}

t.test('it is warm once its browser has drawn a page', async (t) => {
  const { spare, draw } = openSpare();
  t.notOk(spare.isWarm);
  await draw(KILLED);
  t.notOk(spare.isWarm);
  await draw();
  t.ok(spare.isWarm);
});

t.test('its browser ends when it has drawn no page for five minutes', async (t) => {
  const { clock, thread, spare, draw } = openSpare();
  await draw();
  clock.advance(299_999);
  await draw();
  clock.advance(299_999);
  t.equal(thread.stops, 0);
  clock.advance(1);
  t.equal(thread.stops, 1);
  t.notOk(spare.isWarm);
});
