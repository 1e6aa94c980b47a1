// needs: server, both stores
import t from 'tap';
import { startServer } from '../../support/harness.ts';
import { submit, uploadPictures } from './jobs.ts';
import { openSharedClockStores } from './shared-clock-stores.ts';

const WEEK_MS = 8 * 86_400_000;

const { stores, now, move } = await openSharedClockStores(t);
const server = await startServer(t, { stores, now, settings: { JOB_DOCUMENTS_MEGABYTES: '1' } });

t.test(
  'what the jobs of an account keep is bounded, cancelled ones counted, until they expire',
  async (t) => {
    const { key } = await server.account({ plan: 'free', credits: 1_000 });
    const parameters = { note: 'x'.repeat(60_000) };
    const body = { op: 'generate', model: 'sandbox-image-draft', prompt: '[sandbox:reject]', parameters };
    let accepted = 0;
    let last = await submit(server, key, { ...body, wait: 60 });
    for (; last.status < 300 && accepted < 40; last = await submit(server, key, { ...body, wait: 60 }))
      accepted += 1;
    t.ok(accepted >= 10 && accepted <= 17, `${accepted} jobs of 60 kB were accepted`);
    t.equal(last.status, 422);
    t.match(last.json.error, { code: 'resource_limit_exceeded', details: { limit: 1_048_576 } });
    const { json: credits } = await server.call('/credits', { key });
    t.equal(credits.data.held, 0, 'nothing is held for the refused one');
    const small = await submit(server, key, { ...body, parameters: {}, wait: 60 });
    t.ok(small.status < 300, 'small jobs go on');
    const other = await server.account({ plan: 'free', credits: 1_000 });
    t.ok((await submit(server, other.key, { ...body, wait: 60 })).status < 300, 'and other accounts');
    move(WEEK_MS);
    for (let sweeps = 0; sweeps < 5; sweeps += 1) await server.sweep();
    t.ok((await submit(server, key, { ...body, wait: 60 })).status < 300, 'what has expired is not counted');
  },
);

t.test('items count too, those of cancelled jobs as well', async (t) => {
  const account = await server.account({ plan: 'scale' });
  const { key } = account;
  const assetIds = await uploadPictures(server, account, 20);
  const variants = Array.from({ length: 20 }, (_, index) => ({ parameters: { sigma: index + 1 } }));
  const submitAndCancel = async () => {
    const answer = await submit(server, key, { op: 'blur', assetIds, variants });
    if (answer.status === 201)
      await server.call(`/jobs/${answer.json.data.id}/cancel`, { key, method: 'POST' });
    return answer;
  };
  for (let jobs = 0; jobs < 4; jobs += 1) t.equal((await submitAndCancel()).status, 201);
  const refused = await submitAndCancel();
  t.equal(refused.status, 422, 'the fifth job of 400 items would pass 1 MB');
  t.match(refused.json.error, { code: 'resource_limit_exceeded', details: { limit: 1_048_576 } });
});
