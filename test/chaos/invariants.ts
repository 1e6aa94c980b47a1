import { setTimeout as pause } from 'node:timers/promises';
import type { DocumentWithId } from '../../src/platform/stores/documents/port.ts';
import type { Caller } from '../../src/product/accounts/authentication.ts';
import type { AssetDocument } from '../../src/product/assets/asset.ts';
import type { BillingAccount, LedgerRow } from '../../src/product/billing/store.ts';
import { hasEnded, type ItemDocument, type JobDocument } from '../../src/product/jobs/job.ts';
import type { Host, World } from './world.ts';

const LEASE_MS = 31_000;
const LONG_MS = 6 * 60_000;
const VERY_LONG_MS = 2 * 60 * 60_000;
const POLLS = 2_000;
/** Spans after which everything must have ended, whichever process died last. */
const MORE_SPANS = 12;

export async function all<T extends DocumentWithId>({ documents }: World, name: string): Promise<T[]> {
  const collection = documents.collection<T>({ name, indexes: [] });
  return collection.find({}, { sort: [['_id', 1]] });
}

export const jobsOf = (world: World) => all<JobDocument>(world, 'jobs');
/** The credits that a job was charged: none before its end. */
export const chargedFor = (job: JobDocument) => (hasEnded(job) ? job.chargedCredits : 0);
export const itemsOf = (world: World) => all<ItemDocument>(world, 'jobItems');

/** Waits until a host has claimed nothing and can claim nothing. */
export async function quiet(world: World, { owner }: Host): Promise<void> {
  for (let poll = 0; poll < POLLS; poll += 1) {
    const items = await itemsOf(world);
    const running = new Set(
      (await jobsOf(world)).filter(({ status }) => status === 'PROCESSING').map(({ _id }) => _id),
    );
    const isBusy = items.some(
      ({ queue, owner: its, jobId }) => its?.startsWith(owner) || (queue === 'ready' && running.has(jobId)),
    );
    if (!isBusy) return;
    await pause(5);
  }
  throw new Error('A host did not come to rest.');
}

/** Waits until every job has ended, and all that follows from its end is done. */
export async function ended(world: World): Promise<void> {
  for (let poll = 0; poll < POLLS; poll += 1) {
    if ((await jobsOf(world)).every(({ phase }) => phase === 'done')) return;
    await pause(5);
  }
  throw new Error('A job did not end.');
}

/** Lets time pass over what dead processes left, with a host that lives and sweeps. */
export async function recover(world: World, host: Host): Promise<void> {
  const spans = [LEASE_MS, LEASE_MS, LONG_MS, LEASE_MS, LONG_MS, LEASE_MS, VERY_LONG_MS, LEASE_MS];
  for (const span of spans) await pass(world, host, span);
  // Another host may have died only now, with the last job of all.
  const isDone = async () => (await jobsOf(world)).every(({ phase }) => phase === 'done');
  for (let more = 0; more < MORE_SPANS && !(await isDone()); more += 1) await pass(world, host, LEASE_MS);
  await quiet(world, host);
  for (const { sweep } of host.lifecycle.sweeps) await sweep(world.now());
  // The clean-up of an end may be in progress; one that never happens is reported as a broken promise.
  await ended(world).catch(() => undefined);
}

async function pass(world: World, host: Host, ms: number): Promise<void> {
  await quiet(world, host);
  world.elapse(ms);
  for (const { sweep } of host.lifecycle.sweeps) while ((await sweep(world.now())) > 0);
  await host.lifecycle.pollJobs();
}

/**
 * Checks the promises to an account once everything is at rest, whichever processes died before.
 * @returns every broken promise, as a sentence.
 */
export async function brokenPromises(
  world: World,
  { accountId }: Caller,
  granted: number,
): Promise<string[]> {
  const broken: string[] = [];
  const expect = (holds: boolean, sentence: string) => holds || broken.push(sentence);
  const jobs = await jobsOf(world);
  const items = await itemsOf(world);
  const assets = (await all<AssetDocument>(world, 'assets')).filter(({ state }) => state !== 'abandoned');
  const announced = await world.announced.find({});

  for (const job of jobs) {
    const name = `${job._id} (${job.status}, ${job.phase})`;
    const own = items.filter(({ jobId }) => jobId === job._id);
    const count = (status: string) => own.filter((item) => item.status === status).length;
    expect(job.phase === 'done', `${name} is not done`);
    expect(own.length === job.totalItems, `${name} has ${own.length} items of ${job.totalItems}`);
    expect(
      own.every(({ queue }) => queue === undefined),
      `${name} has items in its queue`,
    );
    expect(
      count('COMPLETED') === job.completedItems &&
        count('FAILED') === job.failedItems &&
        count('CANCELLED') === job.cancelledItems &&
        job.completedItems + job.failedItems + job.cancelledItems === job.totalItems,
      `${name} counts ${job.completedItems}, ${job.failedItems}, ${job.cancelledItems}, its items ${count('COMPLETED')}, ${count('FAILED')}, ${count('CANCELLED')}`,
    );
    const made = assets.filter(({ jobId }) => jobId === job._id).map(({ _id }) => _id);
    const results = own.flatMap(({ outcome }) => outcome?.resultAssetId ?? []);
    expect(same(made, results), `${name} has the assets ${made}, its items made ${results}`);
    const events = announced.filter(({ data }) => data.jobId === job._id);
    const ofItems = events.filter(({ type }) => type.startsWith('job.item'));
    const ordinals = ofItems.map(({ data }) => Number(data.settledItems)).sort((a, b) => a - b);
    expect(
      ordinals.length === job.settledItems && ordinals.every((ordinal, index) => ordinal === index + 1),
      `${name} announced its items as ${ordinals}`,
    );
    expect(
      new Set(ofItems.map(({ data }) => data.itemIndex)).size === ofItems.length,
      `${name} announced an item twice`,
    );
    expect(events.length - ofItems.length === 1, `${name} announced ${events.length - ofItems.length} ends`);
  }
  const known = new Set(jobs.map(({ _id }) => _id));
  expect(
    items.every(({ jobId }) => known.has(jobId)),
    'items are left of a job that is not there',
  );
  expect(
    assets.every(({ jobId, state }) => known.has(jobId ?? '') && state === 'kept'),
    'assets are left over',
  );

  const [money] = (await all<BillingAccount>(world, 'accounts')).filter(({ _id }) => _id === accountId);
  const charged = jobs.reduce((sum, job) => sum + chargedFor(job), 0);
  const runs = jobs.reduce((sum, job) => sum + job.usedRuns, 0);
  expect(money?.held === 0, `${money?.held} credits are held`);
  expect(
    money?.balance === granted - charged,
    `the balance is ${money?.balance} after ${charged} were charged`,
  );
  expect((money?.processing.used ?? 0) === runs, `${money?.processing.used} runs are counted of ${runs}`);
  const ledger = await all<LedgerRow>(world, 'ledger');
  const written = ledger.reduce((sum, { credits }) => sum + credits, 0);
  const last = money?.movement;
  const isLeft =
    last != null && last.credits !== 0 && !ledger.some(({ reference }) => reference === last.reference);
  expect(written + (isLeft ? last.credits : 0) === money?.balance, `the ledger sums to ${written}`);
  const [places] = await all<{ _id: string; stored: number; marks?: unknown[]; moving: unknown[] }>(
    world,
    'assetPlaces',
  );
  expect(
    (places?.stored ?? 0) === assets.length,
    `${places?.stored} assets are counted for ${assets.length} assets`,
  );
  expect((places?.marks?.length ?? 0) === 0, 'reservations of assets are left');
  return broken;
}

function same(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && new Set([...one, ...other]).size === one.length;
}
