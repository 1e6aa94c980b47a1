// needs: nothing
import t from 'tap';
import { StoreWaitTime, storeTimeOfRequest } from '../../../src/platform/metrics/stores.ts';

t.test('queries side by side count once, and one that still runs counts up to now', async (t) => {
  let nowMs = 0;
  const time = new StoreWaitTime(() => nowMs);
  t.equal(time.seconds(), 0);
  time.recordCallStart();
  nowMs = 1_000;
  time.recordCallStart();
  nowMs = 3_000;
  time.recordCallEnd();
  nowMs = 4_000;
  time.recordCallEnd();
  t.equal(time.seconds(), 4);
  nowMs = 9_000;
  t.equal(time.seconds(), 4, 'no query runs');
  time.recordCallStart();
  nowMs = 10_000;
  t.equal(time.seconds(), 5);
});

t.test('code belongs to the request that it follows from, and to none elsewhere', async (t) => {
  const [one, other] = [new StoreWaitTime(), new StoreWaitTime()];
  const seen: unknown[] = [];
  const step = async () => {
    await Promise.resolve();
    seen.push(storeTimeOfRequest.getStore());
  };
  await new Promise<void>((resolve) => {
    storeTimeOfRequest.run(one, () => void step().then(resolve));
    storeTimeOfRequest.run(other, () => void step());
  });
  t.ok(seen[0] === one && seen[1] === other);
  t.equal(storeTimeOfRequest.getStore(), undefined);
});
