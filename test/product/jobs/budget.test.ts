// needs: server, both stores
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import type { DocumentStore } from '../../../src/platform/stores/documents/port.ts';
import type { Stores } from '../../../src/platform/stores/open.ts';
import { DOCUMENT_CHANGES } from '../../support/dying.ts';
import { startServer } from '../../support/harness.ts';
import { submit, uploadPictures } from './jobs.ts';
import { openSharedClockStores } from './shared-clock-stores.ts';

const { stores, now } = await openSharedClockStores(t);
const changes: string[] = [];
/** Everything that was asked of the documents. */
const questions: string[] = [];
const counted = countingChanges(stores);
const settings = { SWEEP_INTERVAL_MS: '3600000' };
const server = await startServer(t, { stores: counted, settings, now });

/** Notes what changes documents and objects, such as `jobs.insertOne`. */
function countingChanges(counting: Stores): Stores {
  const noted = <P extends object>(store: string, port: P, isChange: (method: string) => boolean): P =>
    new Proxy(port, {
      get(target, name) {
        const method = Reflect.get(target, name) as unknown;
        if (typeof method !== 'function') return method;
        return (...args: unknown[]) => {
          if (isChange(String(name))) changes.push(`${store}.${String(name)}`);
          if (store !== 'objects') questions.push(`${store}.${String(name)}`);
          return method.apply(target, args);
        };
      },
    });
  const documents: DocumentStore = {
    collection: (spec) =>
      noted(spec.name, counting.documents.collection<never>(spec), (name) => DOCUMENT_CHANGES.has(name)),
    prepare: (spec) => counting.documents.prepare(spec),
    ping: () => counting.documents.ping(),
    close: () => counting.documents.close(),
  };
  return { ...counting, documents, objects: noted('objects', counting.objects, (name) => name === 'put') };
}

t.test('a waited job of one item makes these writes, and no other', async (t) => {
  const account = await server.account({ plan: 'scale' });
  const [assetId] = await uploadPictures(server, account, 1);
  // Shown, ended and done.
  const isDone = () => changes.filter((name) => name === 'jobs.findOneAndUpdate').length >= 3;
  const waited = async () => {
    changes.length = 0;
    questions.length = 0;
    const { status } = await submit(server, account.key, { op: 'flip', assetIds: [assetId] }, '?wait=60');
    t.equal(status, 200);
    while (!isDone()) await pause(5);
  };
  // The first hold of an account begins its month.
  await waited();
  await waited();
  t.equal(questions.length, 20, questions.join(', '));
  t.same(
    changes.toSorted(),
    [
      // Submit: the hidden job, then all that it needs at once, then it is shown running, its item claimed already.
      ...['jobs.insertOne', 'jobDefinitions.insertOne', 'jobItems.insertMany', 'accounts.updateOne'],
      ...[
        'assetPlaces.updateOne',
        'jobs.findOneAndUpdate',
        'runMovements.insertMany',
        'assetPlaces.updateOne',
      ],
      // Work: the output unseen and its bytes at once, the outcome, the output shown, the outcome counted and the job
      // ended in one.
      ...[
        'assets.insertOne',
        'objects.put',
        'jobItems.updateOne',
        'assets.updateMany',
        'jobs.findOneAndUpdate',
      ],
      // Behind the answer.
      ...['jobItems.updateMany', 'jobs.findOneAndUpdate'],
    ].sort(),
  );
});
