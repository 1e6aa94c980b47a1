import { setTimeout as pause } from 'node:timers/promises';
import { failsAt, type KnownStep, ledgerOf, owed } from '../../product/jobs/chain-runs.ts';
import type { Receiver } from '../../product/webhooks/receiver.ts';
import { type Answer, allPages, type Client } from './client.ts';
import type { Workload } from './work.ts';

type Row = Answer['json'];

/** How long jobs may take to end, and events to come: leases of dead hosts run out, and lost wake-ups are found. */
const END_TIMEOUT_MS = 240_000;
const UNDONE_MS = 420_000;
const POLL_MS = 250;
const ENDED = ['COMPLETED', 'FAILED', 'CANCELLED'];

/** A job as it is seen from outside. */
interface SeenJob {
  job: Row;
  items: Row[];
  assets: Row[];
  segments: KnownStep[][];
}

export interface Seen {
  client: Client;
  workload: Workload;
  receiver: Pick<Receiver, 'received'>;
  granted: number;
}

/**
 * Waits for everything to end, and then checks it as a client can.
 * @returns every broken promise.
 */
export async function promisesBrokenOutside(seen: Seen): Promise<string[]> {
  const unended = await waitForEnds(seen);
  if (unended.length > 0) return unended;
  const jobs = await readJobs(seen);
  return [
    ...jobs.flatMap(itemErrors),
    ...priceErrors(jobs),
    ...(await moneyErrors(seen, jobs)),
    ...(await eventErrors(seen, jobs)),
  ];
}

/** Every accepted job is there, none was made twice, and all have ended. */
async function waitForEnds({ client, workload }: Seen): Promise<string[]> {
  const listed = await allPages(client, '/jobs');
  const ids = new Set(listed.map(({ id }) => id));
  const attempts = listed.map(({ collection, attemptNumber }) => `${collection}, attempt ${attemptNumber}`);
  const broken = [
    ...[...workload.accepted]
      .filter((id) => !ids.has(id))
      .map((id) => `${id} was accepted, and is not there`),
    ...attempts
      .filter((name, index) => attempts.indexOf(name) !== index)
      .map((name) => `${name} is there twice`),
  ];
  const untilMs = performance.now() + END_TIMEOUT_MS;
  for (const id of ids) {
    for (;;) {
      const { json } = await client(`/jobs/${id}?wait=5`);
      if (ENDED.includes(json?.data?.status)) break;
      if (performance.now() < untilMs) continue;
      broken.push(`${id} did not end: ${JSON.stringify(json)}`);
      break;
    }
  }
  return broken;
}

async function readJobs({ client, workload }: Seen): Promise<SeenJob[]> {
  const jobs: SeenJob[] = [];
  for (const job of await allPages(client, '/jobs')) {
    const items = await allPages(client, `/jobs/${job.id}/items`);
    const assets = await allPages(client, `/assets?jobId=${job.id}`);
    jobs.push({ job, items, assets, segments: workload.orders.get(job.collection) ?? [] });
  }
  return jobs.sort((a, b) => a.job.attemptNumber - b.job.attemptNumber);
}

function itemErrors({ job, items, assets }: SeenJob): string[] {
  const broken: string[] = [];
  const count = (status: string) => items.filter((item) => item.status === status).length;
  const counts = [count('COMPLETED'), count('FAILED'), count('CANCELLED')];
  const counters = [job.completedItems, job.failedItems, job.cancelledItems];
  if (String(counts) !== String(counters)) broken.push(`${job.id} counts ${counters}, its items ${counts}`);
  const total = counts.reduce((sum, one) => sum + one, 0);
  if (total !== job.totalItems) broken.push(`${job.id} ended with ${total} of ${job.totalItems} items`);
  const made = assets.map(({ id }) => id).sort();
  const results = items.flatMap(({ resultAssetId }) => resultAssetId ?? []).sort();
  if (String(made) !== String(results)) broken.push(`${job.id} has the assets ${made}, its items ${results}`);
  const empty = items.filter(
    ({ status, resultAssetId, output }) => status === 'COMPLETED' && !resultAssetId && output === undefined,
  );
  if (empty.length > 0) broken.push(`${job.id} has ${empty.length} completed items without a result`);
  return broken;
}

/** A job costs the models' segments that its items finished in it; an attempt begins where its parent's items stood. */
function priceErrors(jobs: readonly SeenJob[]): string[] {
  const left = new Map<string, Row[]>();
  return jobs.flatMap(({ job, items, segments }) => {
    const before = left.get(job.parentJobId) ?? [];
    const unfinished = items.filter(({ status }) => status !== 'COMPLETED');
    left.set(job.id, unfinished);
    const broken: string[] = [];
    const prices = items.map((item) => {
      const from = before[item.index]?.step ?? 0;
      if (item.status === 'COMPLETED') return owed(segments, from, undefined);
      const refusedAt = failsAt(segments, item.index, from);
      if (item.errorCode === 'provider_rejected' && (item.failedStep ?? 0) !== refusedAt)
        broken.push(`${job.id} refused item ${item.index} in ${item.failedStep} instead of ${refusedAt}`);
      return owed(segments, from, item.step ?? from);
    });
    const sum = prices.reduce((total, price) => total + price, 0);
    if (sum !== job.actualCredits)
      broken.push(`${job.id} cost ${job.actualCredits} credits instead of ${sum}`);
    return broken;
  });
}

async function moneyErrors({ client, granted, workload }: Seen, jobs: readonly SeenJob[]): Promise<string[]> {
  const broken: string[] = [];
  const outputs = jobs.reduce((total, { assets }) => total + assets.length, 0);
  const expectedAssets = workload.uploads + outputs;
  const { json, account } = await atRest(client, expectedAssets);
  const ledger = await allPages(client, '/credits/ledger');
  const spent = jobs.reduce((sum, { job }) => sum + job.actualCredits, 0);
  const { balance, held } = json.data;
  if (held !== 0) broken.push(`${held} credits are held`);
  if (balance !== granted - spent) broken.push(`the balance is ${balance} after ${spent} of ${granted}`);
  const sum = ledger.reduce((total, { credits }) => total + (credits ?? 0), 0);
  if (sum !== balance) broken.push(`the ledger sums to ${sum}, the balance is ${balance}`);
  for (const { job } of jobs) {
    const booked = ledgerOf(ledger, job.id);
    if (booked.charged !== job.actualCredits || booked.held !== 0)
      broken.push(`${job.id} cost ${job.actualCredits}, the ledger says ${JSON.stringify(booked)}`);
  }
  const { stored } = account.data.assets;
  if (stored !== expectedAssets)
    broken.push(`${stored} assets are counted for ${workload.uploads} uploads and ${outputs} outputs`);
  return broken;
}

/** A submit that died holds its credits and its part of the quota until it is undone, five minutes later. */
async function atRest(client: Client, expectedAssets: number): Promise<{ json: Row; account: Row }> {
  const untilMs = performance.now() + UNDONE_MS;
  for (;;) {
    const { json } = await client('/credits');
    const { json: account } = await client('/account');
    const isUndone = json.data.held === 0 && account.data.assets.stored === expectedAssets;
    if (isUndone || performance.now() > untilMs) return { json, account };
    await pause(POLL_MS);
  }
}

/** One event per outcome, however often it was delivered: for each settled item, and for the end of each job. */
async function eventErrors({ receiver }: Seen, jobs: readonly SeenJob[]): Promise<string[]> {
  const expected = jobs.flatMap(({ job, items }) => [
    `${job.id} ${job.status === 'COMPLETED' ? 'job.completed' : 'job.failed'} end`,
    ...items.flatMap(({ status, index }) => {
      if (status === 'CANCELLED') return [];
      return `${job.id} ${status === 'COMPLETED' ? 'job.item.completed' : 'job.item.failed'} ${index}`;
    }),
  ]);
  const delivered = () => {
    const byId = new Map(receiver.received.map(({ event }) => [event.id, event]));
    return [...byId.values()].map(({ type, data }) => `${data.jobId} ${type} ${data.itemIndex ?? 'end'}`);
  };
  const untilMs = performance.now() + END_TIMEOUT_MS;
  while (delivered().length < expected.length && performance.now() < untilMs) await pause(POLL_MS);
  const events = delivered();
  const distinct = new Set(events);
  return [
    ...expected.filter((event) => !distinct.has(event)).map((event) => `${event} was not delivered`),
    ...events
      .filter((event, index) => events.indexOf(event) !== index)
      .map((event) => `${event} was delivered twice`),
    ...[...distinct]
      .filter((event) => !expected.includes(event))
      .map((event) => `${event} was delivered without an outcome`),
  ];
}
