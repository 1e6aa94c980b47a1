// needs: server
import t from 'tap';
import type { DocumentStore } from '../../../src/platform/stores/documents/port.ts';
import { startServer } from '../../support/harness.ts';
import { ended, submit, uploadPictures } from './jobs.ts';
import { openSharedClockStores } from './shared-clock-stores.ts';

const ITEMS = 1_500;
/** Documents that one call of the store may read or write while others wait for it. */
const SLICE = 200;

const { stores, now } = await openSharedClockStores(t);
/** Sizes of the calls that read and write items. */
const sizes: number[] = [];
const server = await startServer(t, { stores: { ...stores, documents: measured(stores.documents) }, now });

t.test('a resume reads and writes its items in slices', async (t) => {
  const account = await server.account({ plan: 'pro', credits: 100_000 });
  const { key } = account;
  const [assetId = ''] = await uploadPictures(server, account, 1);
  const assetIds = Array.from({ length: ITEMS }, () => assetId);
  const body = { op: 'edit', model: 'sandbox-image', prompt: '[sandbox:wait=1000]', assetIds };
  const { json, status } = await submit(server, key, body);
  t.equal(status, 201, JSON.stringify(json.error));
  await server.call(`/jobs/${json.data.id}/cancel`, { key, method: 'POST' });
  const job = await ended(server, key, json.data.id);
  sizes.length = 0;
  const resumed = await server.call(`/jobs/${job.id}/resume`, { key, method: 'POST' });
  t.equal(resumed.status, 201, JSON.stringify(resumed.json.error));
  t.equal(resumed.json.data.totalItems, job.cancelledItems);
  t.ok(sizes.length > job.cancelledItems / SLICE);
  t.ok(Math.max(...sizes) <= SLICE, `the largest call took ${Math.max(...sizes)} items`);
  await server.call(`/jobs/${resumed.json.data.id}/cancel`, { key, method: 'POST' });
});

/** Notes how many items each call reads or writes. */
function measured(documents: DocumentStore): DocumentStore {
  return new Proxy(documents, {
    get(target, name) {
      const method = Reflect.get(target, name) as unknown;
      if (typeof method !== 'function') return method;
      if (name !== 'collection') return method.bind(target);
      return (spec: { name: string }) => {
        const collection = method.call(target, spec) as object;
        return spec.name === 'jobItems' ? measuredItems(collection) : collection;
      };
    },
  });
}

function measuredItems(collection: object): object {
  return new Proxy(collection, {
    get(target, name) {
      const method = Reflect.get(target, name) as unknown;
      if (typeof method !== 'function') return method;
      return async (...args: unknown[]) => {
        const answer = await method.apply(target, args);
        if (name === 'insertMany' && Array.isArray(args[0])) sizes.push(args[0].length);
        if (name === 'find' && Array.isArray(answer)) sizes.push(answer.length);
        return answer;
      };
    },
  });
}
