// needs: both stores
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Clock } from '../../../src/platform/clock.ts';
import { randomText } from '../../../src/platform/ids/ids.ts';
import type { AdmissionAnswer, Coordination } from '../../../src/platform/stores/coordination/port.ts';
import type { Caller } from '../../../src/product/accounts/authentication.ts';
import { AdmissionCache } from '../../../src/product/accounts/gate/admission-cache.ts';
import { ADMISSION_CACHE_TTL_MS } from '../../../src/product/accounts/revocations.ts';
import { manualClock } from '../../support/clock.ts';
import { openTestStores } from '../../support/harness.ts';

const HERE = '192.0.2.1';
const MINUTE_MS = 60_000;

/** Processes of one host over one coordination, each with its passes; the clock of the passes stands still. */
async function open(t: Test, { processes, limit }: { processes: number; limit: number }) {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-passes-'));
  const stores = await openTestStores(directory, () => new Date());
  t.teardown(async () => {
    await stores.close();
    await rm(directory, { recursive: true, force: true });
  });
  const clock = manualClock();
  const caller = callerOf(randomText(8));
  const key = `host/${caller.accountId}`;
  const { coordination } = stores;
  return {
    clock,
    coordination,
    caller,
    processes: Array.from({ length: processes }, () => processOver(coordination, clock, { key, limit })),
  };
}

function callerOf(accountId: string): Caller {
  return { accountId, plan: 'free', apiKeyId: `key_${accountId}`, sessionId: null };
}

function processOver(coordination: Coordination, clock: Clock, window: { key: string; limit: number }) {
  const passes = new AdmissionCache(clock);
  const process = {
    asked: 0,
    passes,
    call: (caller: Caller, network = HERE): Promise<AdmissionAnswer> =>
      passes.admit(caller, network, {
        load: (ahead) => {
          process.asked += 1;
          const rate = { ...window, windowMs: MINUTE_MS, ahead };
          return coordination.admit({ rate, flag: caller.apiKeyId ?? '' });
        },
      }),
    remaining: (caller: Caller, answer: AdmissionAnswer) =>
      (answer.rate?.remaining ?? Number.NaN) + passes.prepaidRequests(caller.accountId),
  };
  return process;
}

t.test('most calls of a busy caller ask nothing, and each is told what is left', async (t) => {
  const { caller, processes } = await open(t, { processes: 1, limit: 100_000 });
  const [process] = processes;
  if (process === undefined) return;
  const remaining: number[] = [];
  for (let call = 0; call < 500; call += 1)
    remaining.push(process.remaining(caller, await process.call(caller)));
  t.same(
    remaining,
    Array.from({ length: 500 }, (_, call) => 99_999 - call),
  );
  // 100 are counted ahead, and fewer once less than 100,000 are left.
  t.equal(process.asked, 5);
});

t.test('where the window is small every call asks', async (t) => {
  const { caller, processes } = await open(t, { processes: 1, limit: 600 });
  const [process] = processes;
  if (process === undefined) return;
  for (let call = 0; call < 20; call += 1) await process.call(caller);
  t.equal(process.asked, 20);
});

t.test(
  'two processes let exactly as many through as the window has, when both go on to its end',
  async (t) => {
    const limit = 2_500;
    const { caller, processes } = await open(t, { processes: 2, limit });
    let letIn = 0;
    for (let round = 0; round < limit / 10; round += 1) {
      const calls = processes.flatMap((process) => Array.from({ length: 10 }, () => process.call(caller)));
      letIn += (await Promise.all(calls)).filter(({ rate }) => rate?.allowed).length;
    }
    t.equal(letIn, limit);
    t.ok(processes.every(({ asked }) => asked < limit));
  },
);

t.test('a process that dies costs what it had counted ahead, a thousandth of what was left', async (t) => {
  const limit = 5_000;
  const { caller, processes } = await open(t, { processes: 2, limit });
  const [dead, alive] = processes;
  if (dead === undefined || alive === undefined) return;
  await dead.call(caller);
  const lost = dead.passes.prepaidRequests(caller.accountId);
  t.equal(lost, limit / 1_000);
  let letIn = 0;
  for (let call = 0; call < limit; call += 1) if ((await alive.call(caller)).rate?.allowed) letIn += 1;
  t.equal(letIn, limit - 1 - lost);
});

t.test('the last word holds for a tenth of a second, and in its turn of the window alone', async (t) => {
  const { clock, caller, processes } = await open(t, { processes: 1, limit: 100_000 });
  const [process] = processes;
  if (process === undefined) return;
  const askedAfter = async (elapsedMs: number) => {
    clock.advance(elapsedMs);
    const { asked } = process;
    await process.call(caller);
    return process.asked - asked;
  };
  t.equal(await askedAfter(0), 1);
  t.equal(await askedAfter(ADMISSION_CACHE_TTL_MS - 1), 0);
  t.equal(await askedAfter(1), 1, 'it is over');
  t.equal(await askedAfter(0), 0);
  clock.advance(MINUTE_MS);
  t.equal(process.passes.prepaidRequests(caller.accountId), 0, 'what was counted was of the window before');
});

t.test('it holds for the same credential and network alone', async (t) => {
  const { caller, processes } = await open(t, { processes: 1, limit: 100_000 });
  const [process] = processes;
  if (process === undefined) return;
  await process.call(caller);
  await process.call(caller, '198.51.100.7');
  t.equal(process.asked, 2, 'another network may be blocked');
  await process.call({ ...caller, apiKeyId: 'key_other' }, '198.51.100.7');
  t.equal(process.asked, 3, 'another key of the account may be revoked');
});

t.test('an answer that coordination refused or flagged is not reused', async (t) => {
  const { clock, coordination, caller, processes } = await open(t, { processes: 1, limit: 100_000 });
  const [process] = processes;
  if (process === undefined) return;
  await process.call(caller);
  await coordination.setFlag(caller.apiKeyId ?? '', MINUTE_MS);
  clock.advance(ADMISSION_CACHE_TTL_MS);
  for (let call = 0; call < 3; call += 1) t.equal((await process.call(caller)).flagged, true);
});
