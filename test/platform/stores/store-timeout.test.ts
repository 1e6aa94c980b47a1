// needs: nothing
import t from 'tap';
import { StoreUnavailableError } from '../../../src/platform/stores/documents/port.ts';
import { StoreTimeout } from '../../../src/platform/stores/store-timeout.ts';

const HOUR_MS = 3_600_000;

t.test('the steps behind one that waited in vain fail at once, until the store answers again', async (t) => {
  const timeout = new StoreTimeout({ name: 'The store', timeoutMs: 100, timeoutWhenSilentMs: 1 });
  const late = Promise.withResolvers<string>();
  await t.rejects(
    timeout.run(() => late.promise),
    new StoreUnavailableError('The store did not answer within 100 ms.'),
  );
  await t.rejects(
    timeout.run(() => new Promise(() => {})),
    new StoreUnavailableError('The store did not answer within 1 ms.'),
  );
  late.resolve('late');
  await late.promise;
  await t.rejects(
    timeout.run(() => new Promise(() => {})),
    { message: 'The store did not answer within 100 ms.' },
    'a late answer is a sign of life',
  );
});

t.test('what the store answers passes through, its refusals too, and they are signs of life', async (t) => {
  const timeout = new StoreTimeout({ name: 'The store', timeoutMs: HOUR_MS, timeoutWhenSilentMs: 1 });
  t.equal(await timeout.run(async () => 7), 7);
  const away = new StoreUnavailableError('It is away.');
  await t.rejects(
    timeout.run(() => Promise.reject(away)),
    away,
  );
  await t.rejects(
    timeout.run(() => new Promise(() => {})),
    { message: /within 1 ms/ },
  );
  await t.rejects(
    timeout.run(() => Promise.reject(new TypeError('a wrong filter'))),
    TypeError,
  );
  t.equal(await timeout.run(async () => 8), 8);
});
