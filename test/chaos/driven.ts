import { strict as assert } from 'node:assert';
import { setTimeout as pause } from 'node:timers/promises';
import { ApiError } from '../../src/platform/http/errors/errors.ts';
import type { Caller } from '../../src/product/accounts/authentication.ts';
import type { BillingAccount, LedgerRow } from '../../src/product/billing/store.ts';
import { hasEnded, type ItemDocument, type JobDocument } from '../../src/product/jobs/job.ts';
import { all, chargedFor, itemsOf, jobsOf } from './invariants.ts';
import { orderOf, performing, type Script, type ScriptCall, scripted } from './script.ts';
import type { ExpectedAnswer, Fate, ModelJob, StateTable } from './table.ts';
import { Followed } from './transitions.ts';
import { type Host, LIMITED, openWorld, type World } from './world.ts';

/** Little enough to run out in a sequence. */
export const RESOURCES = {
  credits: 25,
  runsAMonth: LIMITED.processLimit,
  overage: LIMITED.overageCredits,
  places: 14,
};
const LEASE_MS = 30_000;
const DAY_MS = 86_400_000;
/** An engine that changes nothing for this number of polls is stuck. */
const STILL_POLLS = 800;
const TICK_MS = 1;

/** The engine under the control of a test: a claimed item waits until the test ends it. */
export interface Driven {
  world: World;
  caller: Caller;
  host: Host;
  /** By item that the living process works on: ends it. */
  waiting: Map<string, (fate: Fate) => void>;
  /** Compares the moves of the documents with the tables of the engine. */
  followed: Followed;
}

export async function openDriven(mongodbUrl?: string): Promise<Driven> {
  const world = await openWorld({ mongodbUrl, storedAssets: RESOURCES.places });
  const caller = await world.account(RESOURCES.credits);
  const waiting: Driven['waiting'] = new Map();
  const host = await world.start(null, scripted(script(waiting, world)));
  return { world, caller, waiting, host, followed: new Followed() };
}

function script(waiting: Driven['waiting'], { now }: World): Script {
  const perform = performing(now);
  return async (call: ScriptCall) => {
    const fate = await new Promise<Fate>((resolve) => waiting.set(call.item._id, resolve));
    if (fate === 'put off' || fate === 'ours') {
      const usage = { runs: 0, credits: 0 };
      const failure = { code: 'provider_unavailable', message: 'Not now.', mayPass: true, usage } as const;
      return { failure: { ...failure, ...(fate === 'ours' && { isLast: true }) } };
    }
    return perform({ ...call, item: { ...call.item, row: JSON.stringify(fate) } });
  };
}

/**
 * Makes a call, and compares its answer with the one that the table expects. Null when it was refused as it should be.
 */
async function called(
  expected: ExpectedAnswer,
  call: () => Promise<JobDocument>,
): Promise<JobDocument | null> {
  try {
    const job = await call();
    assert.equal('accepted', typeof expected === 'string' ? expected : String(expected.code));
    return job;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { code, details } = error;
    assert.notEqual(expected, 'accepted', `refused with ${code}`);
    const refusal = expected as Exclude<ExpectedAnswer, 'accepted'>;
    assert.ok([refusal.code].flat().includes(code), `${code} instead of ${refusal.code}`);
    if (refusal.details !== undefined) assert.deepEqual(details, refusal.details);
    return null;
  }
}

export async function submit(table: StateTable, { world, host, caller }: Driven, total: number) {
  world.elapse(TICK_MS);
  const month = monthOf(world);
  const order = orderOf(Array.from({ length: total }, () => 'done'));
  const expected = table.expectSubmit(total, month);
  const job = await called(expected, async () => (await host.lifecycle.submit(caller, order)).job);
  if (job === null) return;
  table.add(job._id, total, { month });
  assert.equal(job.status, table.jobs.at(-1)?.status, 'a new job answers its status');
  assert.equal(chargedFor(job), 0, 'nothing is charged at the submit');
}

const monthOf = ({ now }: World) => now().toISOString().slice(0, 7);

export async function cancel(table: StateTable, { host, caller }: Driven, job: ModelJob) {
  const expected = table.expectCancel(job);
  const answer = await called(expected, () => host.lifecycle.cancel(caller.accountId, job.id));
  if (answer === null) return;
  table.cancel(job);
  assert.equal(answer.status, job.status, 'a cancel answers the status behind it');
}

export async function resume(table: StateTable, { world, host, caller }: Driven, job: ModelJob) {
  world.elapse(TICK_MS);
  const month = monthOf(world);
  const expected = table.expectResume(job, month);
  const made = await called(
    expected,
    async () => (await host.lifecycle.resuming.resume(caller, job.id, { key: null })).job,
  );
  if (made === null) return;
  table.add(made._id, table.leftOf(job), { month, parent: job });
  assert.equal(made.status, table.jobs.at(-1)?.status, 'a new attempt answers its status');
}

export function settle(table: StateTable, { waiting }: Driven, choice: number, fate: Fate) {
  const running = table.running();
  const chosen = running[choice % running.length];
  assert.ok(chosen);
  const itemId = `${chosen.job.id}/${chosen.index}`;
  const finish = waiting.get(itemId);
  assert.ok(finish, `${itemId} is claimed`);
  waiting.delete(itemId);
  table.settle(chosen.job, chosen.index, fate);
  finish(fate);
}

/** The process dies, and another takes its place; what the dead one still does reaches nothing. */
export async function die(table: StateTable, driven: Driven) {
  const { world, host, waiting } = driven;
  host.life.isDead = true;
  for (const finish of waiting.values()) finish('done');
  waiting.clear();
  table.die();
  driven.host = await world.start(null, scripted(script(waiting, world)));
}

export async function endLeases(table: StateTable, driven: Driven) {
  const { world, host } = driven;
  world.elapse(LEASE_MS + 1_000);
  const held = (await itemsOf(world)).filter(({ owner }) => owner?.startsWith(host.owner));
  const owners = Map.groupBy(held, ({ owner = '' }) => owner);
  for (const [owner, items] of owners) {
    const ids = items.map(({ _id }) => _id);
    await host.stores.items.renew(owner, ids, LEASE_MS);
  }
  await sweep(driven, 'leases of items');
  await sweep(driven, 'retries of items');
  table.leasesEnd();
}

/** Days pass: records come to their end. */
export async function pass(table: StateTable, driven: Driven, days: number) {
  driven.world.elapse(days * DAY_MS);
  await sweep(driven, 'retries of items');
  await sweep(driven, 'expired jobs');
  table.pass(days);
}

async function sweep({ world, host }: Driven, name: string): Promise<void> {
  const found = host.lifecycle.sweeps.find((candidate) => candidate.name === name);
  assert.ok(found, name);
  while ((await found.sweep(world.now())) > 0);
}

/** Waits until nothing is left to do before the next call, then compares everything that there is with the table. */
export async function compare(table: StateTable, driven: Driven): Promise<void> {
  let before = '';
  for (let polls = 0; polls < STILL_POLLS; polls += 1) {
    const items = await itemsOf(driven.world);
    const jobs = await jobsOf(driven.world);
    driven.followed.follow(jobs, items);
    // Two reads are not a snapshot: they are repeated when anything changed in between.
    const isStill = JSON.stringify(items) === JSON.stringify(await itemsOf(driven.world));
    // A claim that is under way would end during the next step, at another time of the clock.
    const isQuiet = driven.host.life.inFlight === 0;
    if (isStill && isQuiet && isAtRest(jobs, items, driven)) return agree(table, driven, jobs, items);
    const seen = JSON.stringify([jobs, items]);
    if (seen !== before) polls = 0;
    before = seen;
    await pause(3);
  }
  throw new Error(`The engine stands still with work left: ${before}`);
}

function isAtRest(jobs: JobDocument[], items: ItemDocument[], { host, waiting }: Driven): boolean {
  const running = new Set(jobs.filter(({ status }) => status === 'PROCESSING').map(({ _id }) => _id));
  const isMoving = ({ _id, jobId, queue, owner }: ItemDocument) =>
    queue === 'decided' ||
    (queue === 'ready' && running.has(jobId)) ||
    (queue === 'claimed' && owner?.startsWith(host.owner) && !waiting.has(_id));
  if (items.some(isMoving)) return false;
  const placed = jobs.filter((job) => !hasEnded(job) && job.slot !== undefined).length;
  return jobs.every(({ _id, status, phase, cancelledItems }) => {
    if (phase === 'done') return true;
    const own = items.filter(({ jobId }) => jobId === _id);
    const isHeld = own.some(({ queue }) => queue === 'claimed');
    if (status === 'PENDING') return placed >= 2;
    if (status === 'CANCELLING') {
      // Items are cancelled first, and counted in their job by the next write.
      const isCounted = own.filter(({ status: its }) => its === 'CANCELLED').length === cancelledItems;
      return isHeld && isCounted && own.every(({ status: its }) => its !== 'PENDING');
    }
    return phase === 'open' && own.some(({ queue }) => queue !== undefined);
  });
}

const STATUS_OF = {
  ready: 'PENDING',
  later: 'PENDING',
  running: 'PROCESSING',
  orphan: 'PROCESSING',
  ...{ COMPLETED: 'COMPLETED', FAILED: 'FAILED', CANCELLED: 'CANCELLED' },
} as const;
const TERMINAL = ['COMPLETED', 'FAILED', 'CANCELLED'];

async function agree(table: StateTable, driven: Driven, jobs: JobDocument[], items: ItemDocument[]) {
  const byId = new Map(jobs.map((job) => [job._id, job]));
  assert.equal(jobs.length, table.jobs.length, 'there are as many jobs as the table says');
  for (const model of table.jobs) {
    const job = byId.get(model.id);
    assert.ok(job, `${model.id} is there`);
    const own = items.filter(({ jobId }) => jobId === model.id).sort((a, b) => a.index - b.index);
    assert.deepEqual(
      { status: job.status, items: own.map(({ status }) => status) },
      { status: model.status, items: model.items.map(({ at }) => STATUS_OF[at]) },
      `${model.id} stands where the table says`,
    );
    assert.deepEqual(countersOf(job), countersIn(model), `${model.id} counts what the table says`);
    await agreeOnEvents(model, driven);
    if (!TERMINAL.includes(job.status))
      assert.equal(chargedFor(job), 0, `${model.id} is not charged before its end`);
  }
  await agreeOnMoney(table, driven);
}

function countersOf(job: JobDocument) {
  const { totalItems, completedItems, failedItems, cancelledItems, settledItems, usedRuns } = job;
  const { attemptNumber, parentJobId, rootJobId } = job;
  const counters = { totalItems, completedItems, failedItems, cancelledItems, settledItems, usedRuns };
  return { ...counters, attemptNumber, parentJobId, rootJobId };
}

function countersIn({ items, attempt, parentId, rootId }: ModelJob): ReturnType<typeof countersOf> {
  const count = (status: string) => items.filter(({ at }) => at === status).length;
  const [completedItems, failedItems] = [count('COMPLETED'), count('FAILED')];
  return {
    ...{ totalItems: items.length, completedItems, failedItems, settledItems: completedItems + failedItems },
    cancelledItems: count('CANCELLED'),
    usedRuns: items.filter(({ isPaid }) => isPaid).length,
    ...{ attemptNumber: attempt, parentJobId: parentId, rootJobId: rootId },
  };
}

/** One event of each item that completed or failed, one of the end, and no other. */
async function agreeOnEvents({ id, status, items }: ModelJob, { world }: Driven) {
  const events = (await world.announced.find({})).filter(({ data }) => data.jobId === id);
  const announced = events.map(({ type, data }) => `${type} ${data.itemIndex ?? data.status}`).sort();
  const ofItems = items.flatMap(({ at }, index) => {
    if (at !== 'COMPLETED' && at !== 'FAILED') return [];
    return `job.item.${at === 'COMPLETED' ? 'completed' : 'failed'} ${index}`;
  });
  const end = status === 'COMPLETED' ? 'job.completed' : 'job.failed';
  const expected = TERMINAL.includes(status) ? [...ofItems, `${end} ${status}`] : ofItems;
  assert.deepEqual(announced, expected.sort(), `${id} was announced as the table says`);
}

/** Balance, holds, runs and places are what the table says, and the ledger sums to the balance. */
async function agreeOnMoney({ account }: StateTable, { world, caller }: Driven) {
  const [money] = (await all<BillingAccount>(world, 'accounts')).filter(
    ({ _id }) => _id === caller.accountId,
  );
  const [places] = await all<{ _id: string; stored: number }>(world, 'assetPlaces');
  const { balance, held, processing } = money ?? {};
  assert.deepEqual(
    { balance, held, used: processing?.used, stored: places?.stored ?? 0 },
    { balance: account.balance, held: account.held, used: account.used, stored: account.stored },
    'the account has what the table says',
  );
  const ledger = await all<LedgerRow>(world, 'ledger');
  const last = money?.movement;
  const isLeft = last != null && !ledger.some(({ reference }) => reference === last.reference);
  const written = ledger.reduce((total, { credits }) => total + credits, 0);
  assert.equal(written + (isLeft ? last.credits : 0), balance, 'the ledger sums to the balance');
}
