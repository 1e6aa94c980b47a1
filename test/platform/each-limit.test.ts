// needs: nothing
import t from 'tap';
import { forEachWithLimit } from '../../src/platform/queues.ts';

t.test('each is done once, and no more at a time than is said', async (t) => {
  const done: number[] = [];
  const ends: Array<() => void> = [];
  let most = 0;
  const all = forEachWithLimit([1, 2, 3, 4, 5, 6, 7], 3, async (one) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.push(resolve);
    most = Math.max(most, ends.length);
    await promise;
    done.push(one);
  });
  while (done.length < 7) {
    ends.shift()?.();
    await new Promise(setImmediate);
  }
  await all;
  t.same(done, [1, 2, 3, 4, 5, 6, 7]);
  t.equal(most, 3);
});

t.test('one that fails keeps no other from being done, and is told in the end', async (t) => {
  const done: string[] = [];
  const work = async (one: string) => {
    if (one.startsWith('bad')) throw new Error(one);
    done.push(one);
  };
  await t.rejects(forEachWithLimit(['a', 'bad b', 'c', 'bad d', 'e'], 2, work), { message: 'bad b' });
  t.same(done, ['a', 'c', 'e']);
});

t.test('of nothing nothing is done', async (t) => {
  await forEachWithLimit([], 4, () => Promise.reject(new Error('called')));
  t.pass();
});
