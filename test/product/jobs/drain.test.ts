// needs: server
import t from 'tap';
import { startServer } from '../../support/harness.ts';
import { submit } from './jobs.ts';

t.test('a process that stops answers the calls that wait for a job, with the job as it stands', async (t) => {
  const server = await startServer(t);
  const { key } = await server.account({ credits: 100 });
  const slow = { op: 'generate', model: 'sandbox-image', prompt: '[sandbox:wait=60000]' };
  const job = (await submit(server, key, slow)).json.data;
  const waiting = server.call(`/jobs/${job.id}?wait=60`, { key });
  // The wait is held when a call that came after it was answered.
  await server.call('/account', { key });
  const drained = server.drain(5_000);
  const answer = await waiting;
  t.equal(answer.status, 200);
  t.match(answer.json.data.status, /^(PENDING|PROCESSING)$/);
  t.equal(answer.headers.get('connection'), 'close', 'and its client goes elsewhere');
  await drained;
});
