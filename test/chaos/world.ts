import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dropDatabase, randomDatabase } from '../../bench/services/mongodb.ts';
import { newId } from '../../src/platform/ids/ids.ts';
import { EmbeddedCoordination } from '../../src/platform/stores/coordination/embedded.ts';
import { connectMongoDocuments } from '../../src/platform/stores/documents/mongodb.ts';
import type { DocumentCollection, DocumentStore } from '../../src/platform/stores/documents/port.ts';
import { FileObjectStore } from '../../src/platform/stores/objects/files.ts';
import type { ObjectStore } from '../../src/platform/stores/objects/port.ts';
import type { Caller } from '../../src/product/accounts/authentication.ts';
import { ACCOUNTS_COLLECTION } from '../../src/product/accounts/store.ts';
import { AssetCollections } from '../../src/product/assets/collections.ts';
import { type AssetReader, AssetRecordCache } from '../../src/product/assets/content/reader.ts';
import { AssetQuota, JobOutputQuota } from '../../src/product/assets/quota.ts';
import { AssetRemoval } from '../../src/product/assets/removal.ts';
import { AssetsStore } from '../../src/product/assets/store.ts';
import { JobOutputs } from '../../src/product/assets/uploads/outputs.ts';
import { JobHolds } from '../../src/product/billing/holds.ts';
import { CreditMovements } from '../../src/product/billing/movements.ts';
import { type BillingAccount, BillingStore } from '../../src/product/billing/store.ts';
import type { OutboxEvent } from '../../src/product/events/event.ts';
import { type JobStores, type JobsContext, jobStoresOf } from '../../src/product/jobs/context.ts';
import { JobLifecycle } from '../../src/product/jobs/lifecycle.ts';
import { prepared } from '../support/documents.ts';
import { type Failpoint, type Life, mortal } from './failpoints.ts';
import { BLIND, performing, scripted, type Work } from './script.ts';
import { borrowStore } from './stores.ts';

export const LIMITED = {
  id: 'limited',
  processLimit: 3,
  overageCredits: 1,
  retentionDays: 7,
  storedAssets: 1_000,
};

/** Events as they were announced. */
export type Announced = OutboxEvent & { _id: string };

/** A process that runs jobs. */
export interface Host {
  /** Begins the name of the owner in its claims. */
  owner: string;
  stores: JobStores;
  lifecycle: JobLifecycle;
  life: Life;
  stop(): Promise<void>;
}

/** Stores that outlive the processes upon them, and a clock that is moved by hand. */
export interface World {
  documents: DocumentStore;
  objects: ObjectStore;
  announced: DocumentCollection<Announced>;
  now: () => Date;
  elapse(ms: number): void;
  account(credits: number): Promise<Caller>;
  start(failpoint: Failpoint | null, work?: Work): Promise<Host>;
  close(): Promise<void>;
}

const QUIET = { warn: () => undefined };

export interface WorldOptions {
  /** Documents on MongoDB; embedded ones when it is left out. */
  mongodbUrl?: string | undefined;
  /** Whether the next wake-up is lost. */
  losesSignal?: () => boolean;
  /** Room for assets on the plan. */
  storedAssets?: number;
}

export async function openWorld({
  mongodbUrl,
  losesSignal = () => false,
  storedAssets = LIMITED.storedAssets,
}: WorldOptions = {}): Promise<World> {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-chaos-'));
  const database = mongodbUrl === undefined ? null : randomDatabase(mongodbUrl);
  const memory = await borrowStore();
  const documents = database === null ? memory : await prepared(connectMongoDocuments(database));
  const objects = new FileObjectStore(join(directory, 'objects'));
  let nowMs = Date.parse('2026-03-04T05:06:07.890Z');
  const now = () => new Date(nowMs);
  const coordination = new EmbeddedCoordination(memory, () => nowMs);
  const publish = coordination.publish.bind(coordination);
  coordination.publish = async (channel, message) => (losesSignal() ? 0 : publish(channel, message));
  const hosts: Host[] = [];

  async function start(failpoint: Failpoint | null, work: Work = scripted(performing(now))): Promise<Host> {
    const owner = newId('run');
    const { documents: reached, life } = mortal(documents, failpoint);
    const billing = new BillingStore(reached);
    const movements = new CreditMovements(billing, now);
    const holds = new JobHolds({
      ...{ store: billing, movements, now },
      plan: () => LIMITED,
      topUpUrl: () => 'http://localhost/docs',
    });
    const store = new AssetsStore(reached, now);
    const quota = new AssetQuota(reached, now);
    const collections = new AssetCollections(reached, store, now);
    const records = await AssetRecordCache.open(store, coordination, now);
    const removal = new AssetRemoval({ store, records, quota, objects, log: QUIET });
    const outputs = new JobOutputs({ store, collections, removal, objects, imageWorkers: BLIND, now });
    const announced = reached.collection<Announced>({ name: 'announced', indexes: [] });
    const draining = new AbortController();
    const stores = jobStoresOf(reached, now);
    const context: JobsContext = {
      ...stores,
      ...{ coordination, objects, holds, now, log: QUIET },
      assets: {
        // No item here has an input.
        reader: {} as AssetReader,
        store: Object.assign(store, {
          findStatuses: async (_accountId: string, ids: readonly string[]) =>
            new Map(ids.map((id) => [id, 'DONE' as const])),
        }),
        quota: new JobOutputQuota(reached, now),
        outputs,
      },
      events: {
        isWanted: async () => true,
        async write(events) {
          await announced.insertMany(events.map((event) => ({ _id: event.id, ...event })));
        },
      },
      plan: () => ({ ...LIMITED, storedAssets }),
      countAssets: (accountId) => quota.countStored(accountId),
      topUpUrl: () => 'http://localhost/docs',
      maxKeptBytes: 512 * 2 ** 20,
      owner,
      concurrency: { pixels: () => 2, batches: () => 2, pages: () => 1, models: () => 1 },
      maxClaimedItems: () => 1_000,
      onEnd: () => undefined,
      draining: draining.signal,
    };
    const perform = work({ ...stores, objects, make: outputs.make, life });
    const lifecycle = await JobLifecycle.open(context, perform);
    const host: Host = {
      owner,
      stores,
      lifecycle,
      life,
      async stop() {
        draining.abort();
        // Its failpoint may be a write of its stop, and what a dead process awaits never comes.
        if (!life.isDead) await Promise.race([lifecycle.stop(), life.died]);
      },
    };
    hosts.push(host);
    return host;
  }

  return {
    documents,
    objects,
    announced: documents.collection<Announced>({ name: 'announced', indexes: [] }),
    now,
    elapse(ms) {
      nowMs += ms;
    },
    async account(credits) {
      const accountId = newId('acc');
      const billing = new BillingStore(documents);
      const accounts = documents.collection<BillingAccount & { email: string }>(ACCOUNTS_COLLECTION);
      await accounts.insertOne({
        ...{ _id: accountId, email: accountId, plan: LIMITED.id, balance: 0, held: 0, movement: null },
        processing: { period: '', used: 0, reservations: [] },
      });
      const grant = { reference: 'first', type: 'grant', credits, heldChange: 0 } as const;
      await new CreditMovements(billing, now).move(accountId, grant);
      return { accountId, plan: LIMITED.id, apiKeyId: null, sessionId: 'ses_1' } as Caller;
    },
    start,
    async close() {
      await Promise.all(hosts.map((host) => host.stop()));
      for (const { lifecycle, life } of hosts) {
        // What a timer of theirs still begins reaches nothing; the timers of the dead would keep all of their world.
        if (life.isDead) void lifecycle.stop().catch(() => undefined);
        life.isDead = true;
      }
      await coordination.close();
      if (database !== null) {
        await documents.close();
        await dropDatabase(database);
      }
      await memory.giveBack();
      await objects.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
