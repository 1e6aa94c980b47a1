// needs: server, both stores
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { type Answer, startServer, type TestServer } from '../../support/harness.ts';
import { serve } from '../../support/loopback.ts';
import { until } from '../../support/whole-service.ts';
import { openDelivering, signed, twoHalves } from './delivering.ts';

const clock = { nowMs: Date.parse('2026-03-04T05:06:00.000Z') };
const now = () => new Date(clock.nowMs);
/** A host has a cache of its own. */
async function openHost(hostId: string, more = {}) {
  const directory = await mkdtemp(join(tmpdir(), `hosts-${hostId}-`));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const settings = { OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8', DATA_DIR: directory, ...more };
  return { settings, hostId, now };
}
const here = await openHost('here');
const { server, key } = await openDelivering(t, here);
const { stores } = server;
const { coordination } = stores;
const distant = await startServer(t, { ...(await openHost('there')), stores });
const picture = await twoHalves();

/** The same coordination for a process whose leases go another way. */
function withLease(lease: typeof coordination.lease): typeof coordination {
  return new Proxy(coordination, {
    get(target, name) {
      if (name === 'lease') return lease;
      const member = Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

/** How many requests for each path have come to the servers of this process. */
const arrived = new Map<string, number>();
const STARTED = 'http.server.request.start';
const count = (message: unknown) => {
  const { url = '' } = (message as { request: IncomingMessage }).request;
  arrived.set(url, (arrived.get(url) ?? 0) + 1);
};
subscribe(STARTED, count);
t.teardown(() => unsubscribe(STARTED, count));

/** A public address that answers when it is let. Each task reads it once. */
async function openSource(t: Test) {
  const opened = Promise.withResolvers<void>();
  const source = { status: 200, reads: 0, open: opened.resolve };
  const { url } = await serve(t, async (_request, response) => {
    source.reads += 1;
    await opened.promise;
    response.writeHead(source.status, { 'content-type': 'image/png' }).end(picture);
  });
  const path = `resize:width=20/url:${Buffer.from(`${url}/a.png`).toString('base64url')}.png`;
  return Object.assign(source, { path: signed(key, path, path) });
}

/** As many requests to each server at once, all of which have come and wait for the picture. */
async function ask(path: string, servers: readonly TestServer[], each: number): Promise<Promise<Answer>[]> {
  const before = arrived.get(path) ?? 0;
  const asked = servers.flatMap((one) => Array.from({ length: each }, () => one.call(`/${path}`)));
  await until(() => arrived.get(path) === before + asked.length);
  // Their process knows the key and the clock stands, so that they come to their picture without a read of a store.
  for (let turn = 0; turn < 20; turn += 1) await setImmediate();
  return asked;
}

async function sameAnswers(t: Test, asked: readonly Promise<Answer>[], status: number): Promise<void> {
  const answers = await Promise.all(asked);
  t.same(new Set(answers.map((answer) => answer.status)), new Set([status]));
  if (status === 200) t.equal(new Set(answers.map(({ bytes }) => bytes.toString('base64'))).size, 1);
}

/** Lets processes look at the key, one after the other. @returns how many tasks this one picture took. */
async function acquaint(t: Test, servers: readonly TestServer[]): Promise<number> {
  const source = await openSource(t);
  source.open();
  for (const one of servers) t.equal((await one.call(`/${source.path}`)).status, 200);
  return source.reads;
}

const hosts = [server, distant];

t.test('a hundred equal requests to two hosts are two tasks at most', async (t) => {
  await acquaint(t, hosts);
  const source = await openSource(t);
  const asked = await ask(source.path, hosts, 50);
  source.open();
  await sameAnswers(t, asked, 200);
  t.ok(source.reads >= 1 && source.reads <= 2, `${source.reads} tasks`);
});

t.test('the first reader may go', async (t) => {
  const source = await openSource(t);
  const gone = new AbortController();
  const first = fetch(`${server.url}${source.path}`, { signal: gone.signal });
  await until(() => source.reads === 1);
  const others = await ask(source.path, hosts, 50);
  gone.abort();
  await t.rejects(first);
  source.open();
  await sameAnswers(t, others, 200);
  t.ok(source.reads <= 2, `${source.reads} tasks`);
});

t.test('a task that fails is the answer of all processes of its host', async (t) => {
  const polls = { count: 0 };
  const lease: typeof coordination.lease = (name, ...terms) => {
    if (name.startsWith('delivery/')) polls.count += 1;
    return coordination.lease(name, ...terms);
  };
  const sibling = await startServer(t, {
    ...here,
    stores: { ...stores, coordination: withLease(lease) },
  });
  await acquaint(t, [sibling]);
  const source = await openSource(t);
  source.status = 404;
  const asked = await ask(source.path, hosts, 33);
  await until(() => source.reads === 2);
  polls.count = 0;
  asked.push(...(await ask(source.path, [sibling], 34)));
  await until(() => polls.count > 0);
  source.open();
  await sameAnswers(t, asked, 400);
  t.equal(source.reads, 2);
  source.status = 200;
  for (const one of [...hosts, sibling]) t.equal((await one.call(`/${source.path}`)).status, 200);
  t.equal(source.reads, 4, 'the next one of each host tries anew');
});

t.test('hosts with one bucket make a picture once, and twice where a lease is lost', async (t) => {
  const taken = new Set<string>();
  /** A process of which nothing is heard once it has taken a lease, as one that was killed. */
  const lease: typeof coordination.lease = async (name, owner, leaseMs) => {
    if (!name.startsWith('delivery/')) return coordination.lease(name, owner, leaseMs);
    if (taken.has(name)) return true;
    const isTaken = await coordination.lease(name, owner, 50);
    if (isTaken) taken.add(name);
    return isTaken;
  };
  const more = { S3_BUCKET: 'pictures' };
  const silent = await startServer(t, {
    ...(await openHost('silent', more)),
    stores: { ...stores, coordination: withLease(lease) },
  });
  const other = await startServer(t, { ...(await openHost('other', more)), stores });
  t.equal(await acquaint(t, [other, silent]), 1);
  const source = await openSource(t);
  const asked = await ask(source.path, [silent], 50);
  await until(() => source.reads === 1);
  asked.push(...(await ask(source.path, [other], 50)));
  clock.nowMs += 100;
  await until(() => source.reads === 2);
  source.open();
  await sameAnswers(t, asked, 200);
  t.equal(source.reads, 2);
});
