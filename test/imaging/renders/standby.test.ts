// needs: nothing
import { setImmediate as soon } from 'node:timers/promises';
import t from 'tap';
import { StandbyRenderThread } from '../../../src/imaging/renders/thread.ts';
import { manualClock } from '../../support/clock.ts';
import { type StandInThread, standInThread } from './stand-in-render-thread.ts';

function openStandby() {
  const clock = manualClock();
  const thread = standInThread();
  const state = { ready: 0 };
  const onReady = () => {
    state.ready += 1;
  };
  return {
    clock,
    thread,
    state,
    standby: new StandbyRenderThread({ newThread: () => thread, clock, onReady }),
  };
}

async function becomesWarm({ calls }: StandInThread): Promise<void> {
  await soon();
  calls.at(-1)?.answer({ kind: 'done' });
  await soon();
}

t.test('it is started when it is first needed, and says when it is there', async (t) => {
  const { thread, standby, state } = openStandby();
  const slow = standInThread();
  t.equal(thread.calls.length, 0, 'a service whose pages are quick has no second browser');
  t.equal(standby.relieve(slow), null);
  t.equal(standby.relieve(slow), null);
  await becomesWarm(thread);
  t.equal(thread.calls.length, 1, 'it is started once');
  t.equal(state.ready, 1);
  t.equal(standby.relieve(slow), thread);
});

t.test('the thread that was relieved is the next standby, once its slow page has ended', async (t) => {
  const { thread, standby } = openStandby();
  const slow = standInThread();
  standby.relieve(slow);
  await becomesWarm(thread);
  standby.relieve(slow);
  t.equal(standby.relieve(thread), null, 'it still draws');
  await becomesWarm(slow);
  t.equal(standby.relieve(thread), slow);
});

t.test('a browser that does not start is tried again at the next need', async (t) => {
  const { thread, standby, state } = openStandby();
  const slow = standInThread();
  standby.relieve(slow);
  await soon();
  thread.calls[0]?.answer({ kind: 'render_failure', reason: 'no_browser', message: 'none' });
  await soon();
  t.equal(state.ready, 0);
  t.equal(standby.relieve(slow), null);
  await becomesWarm(thread);
  t.equal(standby.relieve(slow), thread);
});

t.test('it ends when no page was slow for five minutes', async (t) => {
  const { clock, thread, standby } = openStandby();
  const slow = standInThread();
  standby.relieve(slow);
  await becomesWarm(thread);
  clock.advance(299_999);
  t.equal(thread.idleStops, 0);
  clock.advance(1);
  t.equal(thread.idleStops, 1);
  t.equal(standby.relieve(slow), null);
});
