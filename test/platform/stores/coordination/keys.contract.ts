import type { Test } from 'tap';
import { randomText } from '../../../../src/platform/ids/ids.ts';
import type { StoredHttpResponse } from '../../../../src/platform/stores/coordination/port.ts';
import { begun, DAY_MS, MINUTE_MS, type Open, opened, pick, SHORT_MS, until } from './harness.ts';

const response: StoredHttpResponse = {
  status: 201,
  headers: { 'content-type': 'application/json; charset=utf-8' },
  body: '{ "data": {"name":"Grüße, 🙂\\n\\u0000"},\r\n "list": [] }',
};

/** Idempotency-Keys. */
export function keysContract(t: Test, open: Open): void {
  t.test('of 100 equal requests one is new and the others see it run', async (t) => {
    const { store, connect } = await opened(t, open);
    const stores = [store, await connect()];
    const key = randomText(8);
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) => pick(stores, i).beginIdempotent(key, 'print', MINUTE_MS, DAY_MS)),
    );
    t.equal(answers.filter(({ state }) => state === 'new').length, 1);
    t.equal(answers.filter(({ state }) => state === 'running').length, 99);
  });

  t.test('a kept answer is replayed byte for byte, and its key means nothing else', async (t) => {
    const { store, connect } = await opened(t, open);
    const key = randomText(8);
    const token = await begun(store, key, 'print');
    t.same(await store.beginIdempotent(key, 'other', MINUTE_MS, DAY_MS), { state: 'reused' });
    await store.keepIdempotent(key, token, response);
    const other = await connect();
    t.same(await other.beginIdempotent(key, 'print', MINUTE_MS, DAY_MS), { state: 'replay', response });
    t.same(await other.beginIdempotent(key, 'other', MINUTE_MS, DAY_MS), { state: 'reused' });
    t.same(await other.beginIdempotent(key, null, MINUTE_MS, DAY_MS), { state: 'reused' });
  });

  t.test('an answer that could not be kept makes its key used up', async (t) => {
    const { store } = await opened(t, open);
    const key = randomText(8);
    await store.keepIdempotent(key, await begun(store, key, 'print'), null);
    t.same(await store.beginIdempotent(key, 'print', MINUTE_MS, DAY_MS), { state: 'reused' });
  });

  t.test('a body without a fingerprint is never replayed', async (t) => {
    const { store } = await opened(t, open);
    const key = randomText(8);
    const token = await begun(store, key, null);
    t.same(await store.beginIdempotent(key, null, MINUTE_MS, DAY_MS), { state: 'running' });
    await store.keepIdempotent(key, token, response);
    t.same(await store.beginIdempotent(key, null, MINUTE_MS, DAY_MS), { state: 'reused' });
  });

  t.test('a freed key is new again, and its former request cannot change it', async (t) => {
    const { store } = await opened(t, open);
    const key = randomText(8);
    const first = await begun(store, key, 'print');
    await store.forgetIdempotent(key, first);
    const second = await begun(store, key, 'other');
    await store.forgetIdempotent(key, first);
    await store.keepIdempotent(key, first, response);
    t.same(await store.beginIdempotent(key, 'other', MINUTE_MS, DAY_MS), { state: 'running' });
    await store.keepIdempotent(key, second, { ...response, body: 'second' });
    t.match(await store.beginIdempotent(key, 'other', MINUTE_MS, DAY_MS), { response: { body: 'second' } });
  });

  t.test('a request that never answers gives its key up in time, to one retry', async (t) => {
    const { store, elapse } = await opened(t, open);
    const key = randomText(8);
    t.match(await store.beginIdempotent(key, 'print', SHORT_MS, DAY_MS), { state: 'new' });
    elapse(SHORT_MS);
    const retried = async () =>
      (
        await Promise.all(
          Array.from({ length: 10 }, () => store.beginIdempotent(key, 'print', MINUTE_MS, DAY_MS)),
        )
      ).filter(({ state }) => state === 'new').length;
    t.equal(await until(retried), 1);
  });

  t.test('a kept answer ends with the life of its key', async (t) => {
    const { store, elapse } = await opened(t, open);
    const key = randomText(8);
    const answer = await store.beginIdempotent(key, 'print', SHORT_MS, SHORT_MS);
    if (answer.state === 'new') await store.keepIdempotent(key, answer.token, response);
    elapse(SHORT_MS);
    t.ok(
      await until(async () => {
        const { state } = await store.beginIdempotent(key, 'other', MINUTE_MS, DAY_MS);
        return state === 'new';
      }),
    );
  });
}
