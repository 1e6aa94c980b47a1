// needs: server
import sharp from 'sharp';
import t from 'tap';
import type { DocumentStore, UpdateResult } from '../../../src/platform/stores/documents/port.ts';
import { startServer } from '../../support/harness.ts';
import { ended, submit, uploadPictures } from './jobs.ts';
import { openSharedClockStores } from './shared-clock-stores.ts';

const ITEMS = 1_800;
/** What the store can change at a time without keeping others waiting. */
const MAX_AT_ONCE = 500;

/** Takes a process of heavy work for some seconds. */
const LARGE = sharp({ create: { width: 2_400, height: 2_400, channels: 3, background: '#a05030' } });

const { stores, now } = await openSharedClockStores(t);
const sizes: number[] = [];
let claims = 0;
let isCancelling = false;

/** Notes how many items each update changes, and the claims of items once the job is being cancelled. */
const documents: DocumentStore = {
  collection(spec) {
    const collection = stores.documents.collection<never>(spec);
    if (spec.name !== 'jobItems') return collection;
    return new Proxy(collection, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return async (...args: unknown[]) => {
          const isClaim = isCancelling && JSON.stringify(args).includes('"queue":"claimed","status"');
          if (isClaim) claims += 1;
          const result = await method.apply(target, args);
          if (name === 'updateMany') sizes.push((result as UpdateResult).modified);
          return result;
        };
      },
    });
  },
  prepare: (spec) => stores.documents.prepare(spec),
  ping: () => stores.documents.ping(),
  close: () => stores.documents.close(),
};

t.test('a large job is cancelled in steps that let others in, and nothing more of it begins', async (t) => {
  const server = await startServer(t, { stores: { ...stores, documents }, now });
  const account = await server.account();
  const { key } = account;
  const [asset = ''] = await uploadPictures(server, account, 1);
  const assetIds = Array.from({ length: ITEMS }, () => asset);
  const { json } = await submit(server, key, { op: 'flip', assetIds });
  isCancelling = true;
  const before = claims;
  const answer = await server.call(`/jobs/${json.data.id}/cancel`, { key, method: 'POST' });
  t.equal(answer.status, 200, JSON.stringify(answer.json).slice(0, 300));
  t.ok(Math.max(...sizes) <= MAX_AT_ONCE, `${Math.max(...sizes)} items were changed by one update`);
  t.ok(claims - before <= MAX_AT_ONCE, `${claims} claims`);
  const job = await ended(server, key, json.data.id);
  t.equal(job.status, 'CANCELLED');
  t.equal(job.completedItems + job.failedItems + job.cancelledItems, ITEMS);
  const { meta } = (await server.call(`/jobs/${job.id}/items?status=CANCELLED`, { key })).json;
  t.equal(meta.total, job.cancelledItems);
  t.ok(job.cancelledItems > ITEMS / 2);
});

t.test('items that wait for a place are cancelled at once, and the job counts them', async (t) => {
  const server = await startServer(t, { settings: { IMAGE_HEAVY_SLOTS: '1' } });
  const { key } = await server.account();
  const body = new Uint8Array(await LARGE.png().toBuffer());
  const { id } = (await server.call('/assets/upload', { key, body, type: 'image/png' })).json.data;
  const assetIds = Array.from({ length: 30 }, () => id);
  const parameters = { format: 'avif', lossless: true };
  const jobId = (await submit(server, key, { op: 'convert', assetIds, parameters })).json.data.id;
  let claimed = 0;
  while (claimed < 5)
    claimed = (await server.call(`/jobs/${jobId}/items?status=PROCESSING`, { key })).json.meta.total;
  const { data: cancelling } = (await server.call(`/jobs/${jobId}/cancel`, { key, method: 'POST' })).json;
  t.equal(cancelling.status, 'CANCELLING');
  t.ok(cancelling.cancelledItems > 0, 'the job tells at once what is cancelled');
  const resumed = (await server.call(`/jobs/${jobId}/resume`, { key, method: 'POST' })).json;
  t.match(resumed.error, { code: 'invalid_state', retryable: false, details: { status: 'CANCELLING' } });
  t.match(resumed.error.message, `GET /api/v1/jobs/${jobId}?wait=60`);
  const job = await ended(server, key, jobId);
  t.equal(job.status, 'CANCELLED');
  t.equal(job.completedItems + job.cancelledItems, 30);
  // One pass runs at a time; another one may have ended shortly before the cancel.
  t.ok(job.completedItems - cancelling.completedItems <= 2, `${job.completedItems} were finished`);
  const { data: items } = (await server.call(`/jobs/${jobId}/items?limit=100`, { key })).json;
  const begun = items.filter((item: object) => 'startedAt' in item || 'durationMs' in item);
  t.equal(begun.length, job.completedItems, 'only what has run has a start and a duration');
});
