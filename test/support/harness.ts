import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { register } from 'prom-client';
import root, { type Test } from 'tap';
import { readSettings } from '../../config/index.ts';
import { type AppOptions, buildApp } from '../../src/host/app.ts';
import { newId, randomText } from '../../src/platform/ids/ids.ts';
import { EmbeddedCoordination } from '../../src/platform/stores/coordination/embedded.ts';
import type { Coordination } from '../../src/platform/stores/coordination/port.ts';
import { openEmbeddedDocuments } from '../../src/platform/stores/documents/embedded/actor.ts';
import type { DocumentStore } from '../../src/platform/stores/documents/port.ts';
import { FileObjectStore } from '../../src/platform/stores/objects/files.ts';
import { combineStores, type Stores } from '../../src/platform/stores/open.ts';
import { disabledTracing, type Tracing } from '../../src/platform/tracing/tracing.ts';
import { createApiKey, hashPassword } from '../../src/product/accounts/accounts.ts';
import { AccountsStore } from '../../src/product/accounts/store.ts';
import { CreditMovements } from '../../src/product/billing/movements.ts';
import { BillingStore } from '../../src/product/billing/store.ts';
import { prepared } from './documents.ts';

export interface TestAccount {
  id: string;
  email: string;
  password: string;
  keyId: string;
  key: string;
}

export interface TestServer {
  /** Address without a slash at the end. */
  url: string;
  stores: Stores;
  /** The log of the server so far, as JSON lines. */
  logged(): string;
  /** One round of every sweep now. */
  sweep(): Promise<void>;
  /** Ends the process as a stop does: calls in flight may take `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>;
  /** Makes an account with one key. */
  account(options?: { plan?: string; credits?: number }): Promise<TestAccount>;
  /** Calls the interface: paths begin behind /api/v1 unless they begin with `//`, which is the server's root. */
  call(path: string, options?: CallOptions): Promise<Answer>;
}

export interface CallOptions {
  method?: string;
  key?: string;
  /** A console session's token. */
  session?: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is, with the type. */
  body?: Uint8Array<ArrayBuffer> | string | FormData;
  type?: string;
}

export interface Answer {
  status: number;
  headers: Headers;
  bytes: Buffer;
  /** The body as JSON; undefined when it is not. */
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into answers freely, and fail where one is not as expected.
  json: any;
}

export interface ServerOptions {
  /** Settings by their names in the environment. */
  settings?: Record<string, string>;
  now?: () => Date;
  imageWork?: AppOptions['imageWork'];
  tracing?: Tracing;
  /** Stores of another server, to act as a second process of the same host. */
  stores?: Stores;
  hostId?: string;
}

/** On loopback, and patient: no test but those of deadlines is about time, and a busy machine is no overload. */
const TEST_SETTINGS = {
  HOST: '127.0.0.1',
  PORT: '0',
  RENDER_TIMEOUT_MS: '120000',
  VECTOR_TIMEOUT_MS: '60000',
  IMAGE_WAIT_MS: '60000',
  STALL_TIMEOUT_MS: '3600000',
  BROWSER_PATH: process.env.BROWSER_PATH ?? '',
};

/** The deadline of a call where its test sets none. It is longer than the setting may be. */
const CALL_DEADLINE_MS = 600_000;

/**
 * A whole server in this process, listening on loopback: real HTTP, real threads, real stores. The stores are embedded,
 * or Redis and MongoDB when the run set TEST_STORES=cluster with their addresses. Ends with the test.
 */
export async function startServer(t: Test, options: ServerOptions = {}): Promise<TestServer> {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-'));
  const now = options.now ?? (() => new Date());
  const settings = readSettings({ ...TEST_SETTINGS, DATA_DIR: directory, ...options.settings });
  if (options.settings?.TRANSFORM_TIMEOUT_MS === undefined)
    settings.images.TRANSFORM_TIMEOUT_MS = CALL_DEADLINE_MS;
  const stores = options.stores ?? (await openTestStores(directory, now));
  const coordination = options.stores && (await coordinationOfItsOwn(options.stores));
  let logged = '';
  const log = pino({ level: 'info' }, { write: (line) => (logged += line) });
  const app = await buildApp({
    settings,
    stores: coordination === undefined ? stores : { ...stores, coordination },
    log,
    hostId: options.hostId ?? 'test-host',
    processId: randomText(6),
    now,
    tracing: options.tracing ?? disabledTracing,
    imageWork: options.imageWork,
    collectMetrics: () => register.metrics(),
  });
  const url = await app.server.listen({ host: '127.0.0.1', port: 0 });
  let drained: Promise<void> | undefined;
  const drain = (timeoutMs: number) => {
    drained ??= app.drain(timeoutMs);
    return drained;
  };
  t.teardown(async () => {
    await drain(0);
    await coordination?.close();
    if (options.stores === undefined) await stores.close();
    await rm(directory, { recursive: true, force: true });
  });
  return {
    url,
    stores,
    logged: () => logged,
    sweep: () => app.sweep(),
    drain,
    account: (account) => makeAccount(stores.documents, now, account),
    call: (path, call) => request(url, path, call),
  };
}

let shared: Promise<TestServer> | undefined;

/**
 * The one server with the usual settings that tests of this process share, each with accounts of its own: most of them
 * take less time than a start. It ends with the process.
 */
export function sharedServer(): Promise<TestServer> {
  shared ??= startServer(root, { settings: { REQUESTS_PER_MINUTE: '100000' } });
  return shared;
}

/** Stores without a server: embedded, or on the servers of this run. */
export async function openTestStores(directory: string, now: () => Date): Promise<Stores> {
  const isCluster = process.env.TEST_STORES === 'cluster';
  const [documents, coordination] = isCluster
    ? await clusterStores(now)
    : await embeddedStores(directory, now);
  const objects = new FileObjectStore(join(directory, 'objects'));
  return combineStores(documents, coordination, objects);
}

async function embeddedStores(directory: string, now: () => Date): Promise<[DocumentStore, Coordination]> {
  const documents = openEmbeddedDocuments(join(directory, 'documents.sqlite'));
  return [documents, new EmbeddedCoordination(documents, () => now().getTime())];
}

/** A database and a key prefix of its own on the servers of this run. Their drivers are loaded only here. */
async function clusterStores(now: () => Date): Promise<[DocumentStore, Coordination]> {
  const { connectMongoDocuments } = await import('../../src/platform/stores/documents/mongodb.ts');
  const name = `test-${randomText(10)}`;
  const mongodb = new URL(process.env.MONGODB_URL ?? '');
  mongodb.pathname = `/${name}`;
  // The clock that hosts share is the test's own here too.
  const coordination = await connectToRedis(`${name}:`, async () => now().getTime());
  return [await prepared(connectMongoDocuments(mongodb.href)), coordination];
}

/** The prefix of the keys of each coordination on Redis. */
const keyPrefixes = new WeakMap<Coordination, string>();

async function connectToRedis(keyPrefix: string, time: Coordination['time']): Promise<Coordination> {
  const { RedisCoordination } = await import('../../src/platform/stores/coordination/redis.ts');
  // As patient as the other deadlines: a busy machine is not an outage.
  const options = { url: process.env.REDIS_URL ?? '', keyPrefix, deadlineMs: 20_000 };
  const coordination = Object.assign(new RedisCoordination(options), { time });
  keyPrefixes.set(coordination, keyPrefix);
  return coordination;
}

/**
 * The connection to Redis of a server that runs on the stores of another one; undefined on embedded stores. Redis
 * counts the receivers of a message by their connections, so that two processes on one of them would count as one.
 */
async function coordinationOfItsOwn({ coordination }: Stores): Promise<Coordination | undefined> {
  const keyPrefix = keyPrefixes.get(coordination);
  return keyPrefix === undefined ? undefined : connectToRedis(keyPrefix, coordination.time);
}

/**
 * Three milliseconds instead of 0.3 s. Tests of passwords themselves make their accounts by the operator's commands.
 */
const CHEAP_SCRYPT = { N: 2 ** 10, r: 8, p: 1, maxmem: 4 * 1024 * 1024 };

async function makeAccount(
  documents: DocumentStore,
  now: () => Date,
  { plan = 'scale', credits = 0 }: { plan?: string; credits?: number } = {},
): Promise<TestAccount> {
  const store = new AccountsStore(documents);
  const email = `${randomText(8).toLowerCase()}@example.test`;
  const password = randomText(16);
  const id = newId('acc', now().getTime());
  const passwordHash = await hashPassword(password, CHEAP_SCRYPT);
  const createdAt = now().toISOString();
  await store.insert({ _id: id, email, name: email, plan, passwordHash, createdAt });
  const { apiKey, key } = await createApiKey(store, id, 'test key', now());
  if (credits > 0) {
    const movements = new CreditMovements(new BillingStore(documents), now);
    await movements.move(id, { reference: 'first', type: 'grant', credits, heldChange: 0 });
  }
  return { id, email, password, keyId: apiKey._id, key };
}

async function request(base: string, path: string, options: CallOptions = {}): Promise<Answer> {
  const address = path.startsWith('//') ? `${base}${path.slice(1)}` : `${base}/api/v1${path}`;
  const headers: Record<string, string> = { ...options.headers };
  if (options.key !== undefined) headers.authorization = `ApiKey ${options.key}`;
  if (options.session !== undefined) headers.authorization = `Bearer ${options.session}`;
  if (options.json !== undefined) headers['content-type'] = 'application/json';
  if (options.type !== undefined) headers['content-type'] = options.type;
  const body = options.json === undefined ? options.body : JSON.stringify(options.json);
  const method = options.method ?? (body === undefined ? 'GET' : 'POST');
  const response = await fetch(address, {
    method,
    headers,
    redirect: 'manual',
    ...(body === undefined ? {} : { body }),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, bytes, json: parsed(bytes) };
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}
