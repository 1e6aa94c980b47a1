// needs: server
import t, { type Test } from 'tap';
import { type Death, dyingStores } from '../../../support/dying.ts';
import { type Answer, startServer, type TestAccount, type TestServer } from '../../../support/harness.ts';
import {
  failsAt,
  type KnownStep,
  ledgerOf,
  owed,
  randomFrom,
  randomSteps,
  segmentsOf,
} from '../chain-runs.ts';
import { uploadPictures } from '../jobs.ts';
import { endedBySweeps, LONG_AFTER_MS, openSharedClockStores } from '../shared-clock-stores.ts';

/** Rounds of random chains; each has a process that dies in the middle. A run by hand takes hundreds. */
const ROUNDS = Number(process.env.CHAIN_ROUNDS ?? 2);
const SEED = Number(process.env.CHAIN_SEED ?? 1);
const ACCOUNTS = 5;
const MAX_ITEMS = 10;
const CREDITS = 10_000;
const LATEST_WRITE = 500;
const PATIENCE_MS = 60_000;

interface Submitted {
  account: TestAccount;
  steps: KnownStep[];
  body: object;
  idempotencyKey: string;
}

const submit = (
  server: TestServer,
  { account, body, idempotencyKey }: Submitted,
): Promise<Answer | undefined> =>
  server
    .call('/jobs', { key: account.key, json: body, headers: { 'idempotency-key': idempotencyKey } })
    .catch(() => undefined);

t.test('a process that dies at any write of a chain costs nobody twice, and loses nothing', async (t) => {
  const { stores, now, move } = await openSharedClockStores(t);
  for (let round = 0; round < ROUNDS; round++) {
    const random = randomFrom(SEED * 1_000 + round);
    await t.test(`round ${round}`, async (t) => {
      const death: Death = {
        change: Number.POSITIVE_INFINITY,
        moment: random(2) === 0 ? 'before' : 'after',
      };
      const { life, ...dead } = dyingStores(stores, death);
      const settings = { REQUESTS_PER_MINUTE: '100000' };
      const dying = await startServer(t, { stores: dead, now, settings });
      const submitted = await Promise.all(Array.from({ length: ACCOUNTS }, () => prepared(dying, random)));
      death.change = life.changes + 1 + random(LATEST_WRITE);
      await Promise.all(submitted.map((job) => submit(dying, job)));
      await diedOrIdle(dying, submitted, life);
      move(LONG_AFTER_MS);
      const survivor = await startServer(t, { stores, now, settings });
      await survivor.sweep();
      for (const job of submitted) await checkJob(t, survivor, job);
    });
  }
});

/** An account with pictures, and the chain that it will submit. */
async function prepared(server: TestServer, random: (below: number) => number): Promise<Submitted> {
  const account = await server.account({ credits: CREDITS });
  const assetIds = await uploadPictures(server, account, 1 + random(MAX_ITEMS));
  const steps = randomSteps(random, assetIds.length);
  const body = { steps: steps.map(({ body }) => body), assetIds };
  return { account, steps, body, idempotencyKey: `chain-${random(1_000_000_000)}` };
}

/** Until the process is dead; some die so late that all its jobs have ended. */
async function diedOrIdle(
  server: TestServer,
  submitted: readonly Submitted[],
  life: { isOver: boolean },
): Promise<void> {
  const until = Date.now() + PATIENCE_MS;
  while (!life.isOver && Date.now() < until) {
    const lists = await Promise.all(
      submitted.map(({ account }) => server.call('/jobs', { key: account.key }).catch(() => undefined)),
    );
    const jobs = lists.flatMap((list) => list?.json?.data ?? []);
    if (jobs.length === submitted.length && jobs.every(({ completedAt }) => completedAt !== undefined))
      return;
  }
}

/** The client repeats its submit, waits, resumes what failed, and everything is paid as the prompts say. */
async function checkJob(t: Test, server: TestServer, job: Submitted): Promise<void> {
  const { account, steps } = job;
  const { key } = account;
  const segments = segmentsOf(steps);
  const repeated = await submit(server, job);
  t.ok(
    repeated !== undefined && repeated.status < 300,
    `${repeated?.status} ${JSON.stringify(repeated?.json?.error)}`,
  );
  const done = await endedBySweeps(server, key, repeated?.json.data.id);
  const fails = done.items.map((_: unknown, item: number) => failsAt(segments, item, 0));
  t.same(
    done.items.map(({ failedStep }: Answer['json']) => failedStep),
    fails,
    'items end where the words say',
  );
  const paid = fails.reduce((sum: number, at?: number) => sum + owed(segments, 0, at), 0);
  t.equal(done.actualCredits, paid, JSON.stringify(steps.map(({ body }) => body)));
  const again = await resumedCredits(t, server, key, done, segments);
  const { data: rows, meta } = (await server.call('/credits/ledger', { key })).json;
  t.equal(
    (await server.call('/jobs', { key })).json.meta.total,
    again.jobId === undefined ? 1 : 2,
    'one job per submit',
  );
  t.match(ledgerOf(rows, done.id), { charged: paid, held: 0 }, `${meta.total} rows`);
  if (again.jobId !== undefined) t.match(ledgerOf(rows, again.jobId), { charged: again.credits, held: 0 });
  const credits = (await server.call('/credits', { key })).json.data;
  t.same(credits, {
    balance: CREDITS - paid - again.credits,
    held: 0,
    available: CREDITS - paid - again.credits,
  });
}

/** A resume runs failed items from where they failed, numbered again, and pays for what it runs alone. */
async function resumedCredits(
  t: Test,
  server: TestServer,
  key: string,
  parent: Answer['json'],
  segments: KnownStep[][],
) {
  const left = parent.items.filter(({ status }: Answer['json']) => status !== 'COMPLETED');
  if (left.length === 0) return { jobId: undefined, credits: 0 };
  const { json, status } = await server.call(`/jobs/${parent.id}/resume`, { key, method: 'POST' });
  t.equal(status, 201, JSON.stringify(json.error));
  const done = await endedBySweeps(server, key, json.data.id);
  const credits = left.reduce((sum: number, { failedStep }: Answer['json'], item: number) => {
    return sum + owed(segments, failedStep, failsAt(segments, item, failedStep));
  }, 0);
  t.equal(done.actualCredits, credits, 'finished segments are not paid again');
  return { jobId: done.id as string, credits };
}
