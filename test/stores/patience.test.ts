// needs: nothing
import t from 'tap';
import { StoreUnavailableError } from '../../src/stores/documents/port.ts';
import { createPatience } from '../../src/stores/patience.ts';

const HOUR_MS = 3_600_000;

t.test('the steps behind one that waited in vain fail at once, until the store answers again', async (t) => {
  const patience = createPatience({ name: 'The store', longestMs: 100, silentMs: 1 });
  const late = Promise.withResolvers<string>();
  await t.rejects(
    patience.run(() => late.promise),
    new StoreUnavailableError('The store did not answer within 100 ms.'),
  );
  await t.rejects(
    patience.run(() => new Promise(() => {})),
    new StoreUnavailableError('The store did not answer within 1 ms.'),
  );
  late.resolve('late');
  await late.promise;
  await t.rejects(
    patience.run(() => new Promise(() => {})),
    { message: 'The store did not answer within 100 ms.' },
    'a late answer is a sign of life',
  );
});

t.test('what the store answers passes through, its refusals too, and they are signs of life', async (t) => {
  const patience = createPatience({ name: 'The store', longestMs: HOUR_MS, silentMs: 1 });
  t.equal(await patience.run(async () => 7), 7);
  const away = new StoreUnavailableError('It is away.');
  await t.rejects(
    patience.run(() => Promise.reject(away)),
    away,
  );
  await t.rejects(
    patience.run(() => new Promise(() => {})),
    { message: /within 1 ms/ },
  );
  await t.rejects(
    patience.run(() => Promise.reject(new TypeError('a wrong filter'))),
    TypeError,
  );
  t.equal(await patience.run(async () => 8), 8);
});
