// needs: nothing
import { readFile } from 'node:fs/promises';
import t from 'tap';
import {
  ITEM_TRANSITIONS,
  JOB_TRANSITIONS,
  transitionFilter,
  transitionUpdate,
} from '../../../src/product/jobs/transitions.ts';
import { NEW_ITEM, NEW_JOB, reachableFrom, type Standing } from '../../chaos/transitions.ts';

const README = new URL('../../../src/product/jobs/README.md', import.meta.url);

/** The standings of a machine, each as one word. */
const words = (standings: Standing[]) =>
  standings.map((standing) => Object.values(standing).map(String).join(' ')).sort();

t.test('a job and an item have these states, and no other', async (t) => {
  t.same(words(reachableFrom(NEW_JOB, JOB_TRANSITIONS)), [
    ...['done 1 CANCELLED', 'done 1 COMPLETED', 'done 1 FAILED'],
    ...['ended 1 CANCELLED', 'ended 1 COMPLETED', 'ended 1 FAILED'],
    'hidden 0 PENDING',
    ...['leaving 0 CANCELLED', 'leaving 0 COMPLETED', 'leaving 0 FAILED'],
    ...['open 1 CANCELLING', 'open 1 PENDING', 'open 1 PROCESSING'],
    'undone 0 PENDING',
  ]);
  t.same(words(reachableFrom(NEW_ITEM, ITEM_TRANSITIONS)), [
    ...['claimed PROCESSING', 'decided PROCESSING', 'later PENDING'],
    ...['null CANCELLED', 'null COMPLETED', 'null FAILED', 'ready PENDING'],
  ]);
});

t.test('from every state there is a way to the end', async (t) => {
  for (const state of reachableFrom(NEW_JOB, JOB_TRANSITIONS))
    t.match(words(reachableFrom(state, JOB_TRANSITIONS)).join(), /leaving|undone/, words([state]).join());
  for (const state of reachableFrom(NEW_ITEM, ITEM_TRANSITIONS))
    t.match(words(reachableFrom(state, ITEM_TRANSITIONS)).join(), /null/, words([state]).join());
});

t.test('the drawings name every row', async (t) => {
  const [, job = '', item = ''] = (await readFile(README, 'utf8')).split(/^## A job$|^## An item$/m);
  for (const row of Object.keys(JOB_TRANSITIONS)) t.match(job, new RegExp(`\\b${row}\\b`), `JOB.${row}`);
  for (const row of Object.keys(ITEM_TRANSITIONS)) t.match(item, new RegExp(`\\b${row}\\b`), `ITEM.${row}`);
});

t.test(
  'an update takes the filter and the change of its row, and removes what the row says null of',
  async (t) => {
    t.same(transitionFilter(JOB_TRANSITIONS.cancel), {
      phase: 'open',
      status: { $in: ['PENDING', 'PROCESSING'] },
    });
    t.same(transitionUpdate(JOB_TRANSITIONS.cancel), { $set: { status: 'CANCELLING' } });
    t.same(
      transitionUpdate(ITEM_TRANSITIONS.complete, { $set: { a: 1 }, $unset: { b: '' }, $inc: { c: 1 } }),
      {
        $set: { status: 'COMPLETED', a: 1 },
        $unset: { queue: '', b: '' },
        $inc: { c: 1 },
      },
    );
  },
);
