// needs: server
import t from 'tap';
import { startServer } from '../../support/harness.ts';
import { submit } from './jobs.ts';

/** A host shares a thousand waits among its processes: ten for each of so many. */
const PROCESSES = '100';
const WAITS = 10;
const DRAIN_MS = 60_000;

const server = await startServer(t, { settings: { PROCESSES } });

/** An account with a job that takes its time. */
async function waiter(prompt: string) {
  const { key } = await server.account({ credits: 100 });
  const { json } = await submit(server, key, { op: 'generate', model: 'sandbox-image-draft', prompt });
  return { key, jobId: json.data.id as string };
}

t.test('a process that is full of waits refuses another one, and nothing else', async (t) => {
  const waiters = await Promise.all(['', '', ''].map(() => waiter('[sandbox:wait=60000]')));
  const wait = (place: number, seconds: number) => {
    const { key, jobId } = waiters[place % waiters.length] ?? { key: '', jobId: '' };
    return server.call(`/jobs/${jobId}?wait=${seconds}`, { key });
  };
  const open = Array.from({ length: WAITS }, (_, place) => wait(place, 60));
  let refused = await wait(0, 1);
  while (refused.status === 200) refused = await wait(0, 1);
  t.equal(refused.status, 503);
  t.match(refused.json.error, {
    code: 'provider_unavailable',
    retryable: true,
    details: { reason: 'capacity' },
  });
  t.ok(Number(refused.headers.get('retry-after')) > 0);
  t.equal((await wait(0, 0)).status, 200, 'a read that does not wait is answered');

  const quick = { op: 'generate', model: 'sandbox-image-draft', prompt: 'x', wait: 60 };
  const { key } = await server.account({ credits: 100 });
  const submitted = await submit(server, key, quick);
  t.ok([200, 202].includes(submitted.status), 'a waited submit is never refused for its wait');

  for (const { key, jobId } of waiters) await server.call(`/jobs/${jobId}/cancel`, { key, method: 'POST' });
  await server.drain(DRAIN_MS);
  for (const { status } of await Promise.all(open)) t.equal(status, 200, 'those that waited are answered');
});
