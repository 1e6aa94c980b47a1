// needs: server
import t from 'tap';
import { startServer } from '../../support/harness.ts';
import { eventually } from '../assets/gallery-harness.ts';
import { ended, submit, uploadPictures } from './jobs.ts';

const OUTPUTS = 4;

t.test('the outputs of a job that has expired leave together, and the uploads stay', async (t) => {
  const { stores } = await startServer(t);
  /** Deletes that stand still before the store. */
  const held: Array<() => void> = [];
  let holds = true;
  const objects = new Proxy(stores.objects, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return async (...args: unknown[]) => {
        if (name === 'delete' && holds) await new Promise<void>((release) => held.push(release));
        return method.apply(target, args);
      };
    },
  });
  const clock = { ms: Date.now() };
  const server = await startServer(t, { stores: { ...stores, objects }, now: () => new Date(clock.ms) });
  const account = await server.account();
  const assetIds = await uploadPictures(server, account, OUTPUTS);
  const parameters = { width: 10 };
  const { json } = await submit(server, account.key, { op: 'resize', assetIds, parameters });
  const job = await ended(server, account.key, json.data.id);

  clock.ms = Date.parse(job.expiresAt) + 1;
  const swept = server.sweep();
  t.ok(await eventually(async () => held.length === OUTPUTS), 'all are on their way out at once');
  holds = false;
  for (const release of held) release();
  await swept;

  const { data } = (await server.call('/assets', { key: account.key })).json;
  t.same(data.map(({ id }: { id: string }) => id).sort(), [...assetIds].sort());
  t.equal((await server.call(`/jobs/${job.id}`, { key: account.key })).status, 404);
});
