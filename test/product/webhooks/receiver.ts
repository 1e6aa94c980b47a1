import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Test } from 'tap';
import { newId } from '../../../src/platform/ids/ids.ts';
import type { Stores } from '../../../src/platform/stores/open.ts';
import type { OutboxEvent } from '../../../src/product/events/event.ts';
import { EventOutbox } from '../../../src/product/events/open.ts';
import type { TestAccount, TestServer } from '../../support/harness.ts';

/** Settings with which the server under test sends to receivers on loopback. */
export const LOOPBACK = { OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8', OUTBOUND_ALLOW_HTTP: 'true' };

/** How long something is awaited: on a busy machine it comes late, and a test that waits for ever holds up others. */
const MAX_WAIT_MS = 600_000;
const POLL_MS = 20;

/** A delivery attempt at the receiver. */
export interface Received {
  headers: IncomingHttpHeaders;
  body: string;
  /** The body as JSON. */
  event: { id: string; type: string; createdAt: string; data: Record<string, unknown> };
  /** Since an arbitrary instant. */
  atMs: number;
}

export interface Receiver {
  url: string;
  received: Received[];
  /** Resolves after this number of attempts. @throws Error when they do not come. */
  until(count: number): Promise<Received[]>;
}

type Answer = (response: ServerResponse, received: Received) => void;

/** A receiver over plain HTTP that keeps its requests, and answers 200 by default. */
export async function startReceiver(
  t: Pick<Test, 'teardown'>,
  answer: Answer = (response) => response.end(),
): Promise<Receiver> {
  const received: Received[] = [];
  let arrived = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const one = { headers: request.headers, body, event: JSON.parse(body), atMs: performance.now() };
    received.push(one);
    arrived.resolve();
    arrived = Promise.withResolvers();
    answer(response, one);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    async until(count) {
      const late = pause(MAX_WAIT_MS, 'late', { ref: false });
      while (received.length < count) {
        if ((await Promise.race([arrived.promise, late])) === 'late')
          throw new Error(`The receiver got ${received.length} of ${count} attempts.`);
      }
      return received;
    },
  };
}

/** Registers an endpoint. @returns it, with its secret. */
export async function register(
  server: TestServer,
  { key }: TestAccount,
  url: string,
  more: Record<string, unknown> = {},
) {
  const { status, json } = await server.call('/webhook-endpoints', { key, json: { url, ...more } });
  if (status !== 201) throw new Error(JSON.stringify(json));
  return json.data as { id: string; secret: string };
}

/** The event of an outcome, as the slice of jobs writes it. */
export function outcome(accountId: string, change: Partial<OutboxEvent> = {}): OutboxEvent {
  const now = new Date();
  return {
    id: newId('evt', now.getTime()),
    accountId,
    type: 'job.completed',
    createdAt: now.toISOString(),
    sequence: 0,
    data: { jobId: newId('job', now.getTime()), type: 'process', status: 'COMPLETED', totalItems: 1 },
    ...change,
  };
}

/** Writes events to the outbox as a process that dies right after it: other processes on these stores spread them. */
export async function leaveInOutbox(stores: Stores, events: readonly OutboxEvent[]): Promise<void> {
  const outbox = await EventOutbox.open(stores);
  await outbox.write(events);
  outbox.stop();
}

/** Verifies a signature by the documentation of Service-Signature alone, without code of the service. */
export function verify(
  received: Pick<Received, 'headers' | 'body'>,
  secret: string,
  nowSeconds: number,
): boolean {
  if (secret === '') throw new Error('An empty secret verifies nothing.');
  const parts = new Map(
    String(received.headers['service-signature'])
      .split(',')
      .map((part) => part.split('=', 2) as [string, string]),
  );
  const [t, v1] = [parts.get('t') ?? '', parts.get('v1') ?? ''];
  if (Math.abs(nowSeconds - Number(t)) > 300) return false;
  const expected = createHmac('sha256', Buffer.from(secret, 'utf8'))
    .update(`${t}.${received.body}`)
    .digest('hex');
  return v1.length === expected.length && timingSafeEqual(Buffer.from(v1), Buffer.from(expected));
}

/** The delivery records of an endpoint, newest first. */
export async function records(server: TestServer, { key }: TestAccount, endpointId: string) {
  return (await server.call(`/webhook-endpoints/${endpointId}/deliveries`, { key })).json.data;
}

/** Polls until there is an answer. @throws Error when none comes. */
export async function eventually<T>(ask: () => Promise<T | undefined | false>): Promise<T> {
  const endMs = performance.now() + MAX_WAIT_MS;
  while (performance.now() < endMs) {
    const answer = await ask();
    if (answer) return answer;
    await pause(POLL_MS);
  }
  throw new Error('What was awaited did not happen.');
}
