// needs: server, both stores

import Fastify from 'fastify';
import t, { type Test } from 'tap';
import { readSettings } from '../../../config/index.ts';
import { ImageWorkers } from '../../../src/imaging/images/image-workers.ts';
import { installBodyParsing, installBodyReading } from '../../../src/platform/http/bodies/parsing.ts';
import { installErrorHandler } from '../../../src/platform/http/errors/failures.ts';
import { installValidation } from '../../../src/platform/http/errors/validation.ts';
import { LinkSigner } from '../../../src/platform/http/signatures.ts';
import { OutboundRequests } from '../../../src/platform/outbound/outbound.ts';
import type { CallGate } from '../../../src/product/accounts/gate/gate.ts';
import type { AssetDocument } from '../../../src/product/assets/asset.ts';
import { type AssetsSlice, openAssets } from '../../../src/product/assets/open.ts';
import { smallCapacity } from '../../support/capacity.ts';
import { type Death, dyingStores } from '../../support/dying.ts';
import { startServer } from '../../support/harness.ts';
import { picture } from './gallery-harness.ts';

const HOUR_MS = 60 * 60_000;
const ACCOUNT = 'acc_one';
const MAX_CHANGES = 20;

const log = { warn: () => undefined };
const settings = readSettings({});
const imageWorkers = new ImageWorkers({ settings: settings.images, capacity: smallCapacity(), log });
t.teardown(() => imageWorkers.close());
const { stores } = await startServer(t);
const clock = { ms: Date.now() };

const caller = { accountId: ACCOUNT, plan: 'free', apiKeyId: null, sessionId: null };
const gate = { requireCaller: () => caller } as unknown as CallGate;

const common = {
  gate,
  imageWorkers,
  outbound: new OutboundRequests({ allowedSubnets: [], allowsHttp: false }),
  signatures: new LinkSigner(Buffer.alloc(32).toString('base64url')),
  capacity: smallCapacity(),
  maxStoredAssetsOf: () => 100,
  publicUrl: () => 'http://darkroom.test',
  topUpUrl: () => 'http://darkroom.test/plans',
  now: () => new Date(clock.ms),
  log,
};

/** The routes of a slice, for one caller and without hooks. */
async function serve(assets: AssetsSlice) {
  const app = Fastify();
  installErrorHandler(app);
  installValidation(app);
  installBodyReading(app);
  installBodyParsing(app, () => 'acc_a');
  await app.register(assets.routes);
  return app;
}

type App = Awaited<ReturnType<typeof serve>>;
type Deed = (app: App, given: string) => Promise<unknown>;

async function upload(app: App): Promise<string> {
  const headers = { 'content-type': 'image/png' };
  const payload = Buffer.from(await picture());
  const answer = await app.inject({ method: 'POST', url: '/assets/upload?collection=c', headers, payload });
  return answer.json().data?.id;
}

async function reserve(app: App): Promise<string> {
  const answer = await app.inject({ method: 'POST', url: '/assets', payload: { contentType: 'image/png' } });
  return answer.json().data?.upload.url;
}

const put = (payload: Buffer) => (app: App, url: string) => {
  const { pathname, search } = new URL(url);
  return app.inject({ method: 'PUT', url: (pathname + search).replace('/api/v1', ''), payload });
};

/** What an account may do, after what must be there for it. */
const DEEDS: Record<string, { given?: (app: App) => Promise<string>; deed: Deed }> = {
  'an upload': { deed: upload },
  'a reservation': { deed: reserve },
  'a put': { given: reserve, deed: put(Buffer.from(await picture())) },
  'a put of no image': { given: reserve, deed: put(Buffer.from('no image')) },
  'a deletion': {
    given: upload,
    deed: (app, id) => app.inject({ method: 'DELETE', url: `/assets/${id}` }),
  },
};

/** Sweeps until nothing is left to do; bounded, for a sweep that never ends is a failure. */
async function sweepAll(t: Test, { sweeps }: AssetsSlice): Promise<void> {
  for (let round = 0; round < 10; round += 1) {
    let cleared = 0;
    for (const { sweep } of sweeps) cleared += await sweep(common.now());
    if (cleared === 0) return;
  }
  t.fail('the sweeps do not come to an end');
}

/** Every object has an asset that is seen, every DONE asset its object, and the count is true. */
async function checkWhole(t: Test, assets: AssetsSlice, message: string): Promise<void> {
  const documents = stores.documents.collection<AssetDocument>({ name: 'assets', indexes: [] });
  const all = await documents.find({});
  const keys = await stores.objects.listOlder('assets/', Number.MAX_SAFE_INTEGER, 1000);
  t.same(
    all.filter(({ state }) => state !== 'kept'),
    [],
    `${message}: no document is left hidden`,
  );
  const done = all.filter(({ status }) => status === 'DONE').map(({ objectKey }) => objectKey);
  t.same(keys.sort(), done.sort(), `${message}: objects and assets are the same`);
  t.equal(await assets.countAssets(ACCOUNT), all.length, `${message}: the count is true`);
  const named = all.filter(({ collection }) => collection === 'c').length;
  const listed = (await (await serve(assets)).inject({ method: 'GET', url: '/collections' })).json().data;
  if (named > 0) t.equal(listed[0]?.assets, named, `${message}: the collection is listed`);
}

for (const [name, { given, deed }] of Object.entries(DEEDS)) {
  t.test(`${name} that dies at any write loses nothing and leaves nothing`, async (t) => {
    const healthy = await openAssets({ ...stores, ...common });
    for (const moment of ['before', 'after'] as const) {
      for (let change = 1; change <= MAX_CHANGES; change += 1) {
        const subject = (await given?.(await serve(healthy))) ?? '';
        if (await diesIn(deed, subject, { change, moment })) {
          // Once for what can be told after hours, and once for what expired and was hidden by then.
          for (const hours of [3, 24, 3]) {
            clock.ms += hours * HOUR_MS;
            await sweepAll(t, healthy);
          }
          await checkWhole(t, healthy, `${moment} change ${change}`);
          continue;
        }
        t.ok(change > 1, `it takes ${change - 1} changes`);
        break;
      }
    }
  });
}

t.test(
  'what died before the stores were opened is swept at once where no other host shares them',
  async (t) => {
    const sharing = await openAssets({ ...stores, ...common });
    t.ok(await diesIn(upload, '', { change: 3, moment: 'after' }));
    const before = await sharing.countAssets(ACCOUNT);
    await sweepAll(t, sharing);
    t.equal(await sharing.countAssets(ACCOUNT), before, 'another host may still be at it');
    clock.ms += 1_000;
    const alone = await openAssets({ ...stores, ...common, storesOpenedAt: common.now() });
    await sweepAll(t, alone);
    await checkWhole(t, alone, 'at the start');
  },
);

/** Whether the deed reached the change that it was to die at. */
async function diesIn(deed: Deed, subject: string, death: Death): Promise<boolean> {
  const dying = dyingStores(stores, death);
  // Opening declares collections and writes nothing.
  const { coordination } = stores;
  const assets = await openAssets({
    ...common,
    coordination,
    documents: dying.documents,
    objects: dying.objects,
  });
  await deed(await serve(assets), subject);
  return dying.life.isOver;
}
