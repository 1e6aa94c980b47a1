// needs: server, both stores, waits
import sharp from 'sharp';
import t from 'tap';
import { startWholeService } from '../../support/whole-service.ts';
import { pngOf } from './calls.ts';

const service = await startWholeService(t, { PROCESSES: '2', TRANSFORM_TIMEOUT_MS: '1000' });
/** The work on it takes several seconds, on two cores too. */
const body = await pngOf(sharp({ create: { width: 5_000, height: 5_000, channels: 3, background: 'teal' } }));
/** With new connections, the chance that one process has all of these calls is 1 in 128. */
const CALLS = 8;

/** The message of the answer to a call on a connection of its own, once the call has not only waited for a worker. */
async function messageOf(): Promise<string> {
  const headers = {
    authorization: `ApiKey ${service.key}`,
    'content-type': 'image/png',
    connection: 'close',
  };
  const path = '/api/v1/images/transform?op=median&size=25';
  const answer = await fetch(`${service.url}${path}`, { method: 'POST', headers, body });
  const { error } = (await answer.json()) as { error: { message: string } };
  return /waiting for a worker, not the work/.test(error.message) ? messageOf() : error.message;
}

t.test('what has met its deadline in one process is not started again in any', async (t) => {
  let first = await messageOf();
  // Work that others kept from a core is started again.
  while (/the work itself took that time/.test(first)) first = await messageOf();
  t.match(first, /not started again/);
  for (let call = 0; call < CALLS; call += 1) t.match(await messageOf(), /not started again/);
});
