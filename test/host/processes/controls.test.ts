// needs: server, alone
import { readdir } from 'node:fs/promises';
import sharp from 'sharp';
import t from 'tap';
import { askProcesses } from '../../../src/host/processes/controls.ts';
import { startServer } from '../../support/harness.ts';
import { until } from '../../support/whole-service.ts';

/** Sizes of the image pool in turn: up and down, by one and by several; the last one is the size at the start. */
const SIZES = [3, 1, 2, 4, 1, 3, 2, 4, 2, 1];
/** More of them by hand: RESIZES=100. */
const CHANGES = Number(process.env.RESIZES ?? 10);

/** Threads of this process, those of the pools, libvips and V8 among them. */
async function threadsNow(): Promise<number> {
  return (await readdir('/proc/self/task')).length;
}

t.test(
  'pools change their size under load, up and down, without a failed call or a thread left over',
  async (t) => {
    const server = await startServer(t, {
      // A busy machine may keep a call waiting for long; no call is to be refused for that.
      settings: { SYNC_CALLS_PER_ACCOUNT: '64', REQUESTS_PER_MINUTE: '1000000', IMAGE_WAIT_MS: '60000' },
    });
    const { coordination } = server.stores;
    const { key } = await server.account();
    const picture = await sharp({ create: { width: 600, height: 400, channels: 3, background: '#37c' } })
      .jpeg()
      .toBuffer();
    let isOver = false;
    let answered = 0;
    const failed: unknown[] = [];
    const caller = async () => {
      while (!isOver) {
        const { status, json } = await server.call('/images/transform?op=resize&width=100', {
          method: 'POST',
          key,
          type: 'image/jpeg',
          body: new Uint8Array(picture),
        });
        if (status === 200) answered += 1;
        else failed.push(json);
      }
    };
    const callers = [caller(), caller(), caller(), caller()];
    const before = await threadsNow();
    for (let change = 0; change < CHANGES; change += 1) {
      const value = SIZES[change % SIZES.length] as number;
      const [answer] = await askProcesses(coordination, {
        kind: 'set',
        name: 'IMAGE_THREADS',
        value,
        save: false,
        by: 'a test',
      });
      t.same(answer?.data, { IMAGE_THREADS: value });
      const [pools] = await askProcesses(coordination, { kind: 'pools' });
      t.match(pools?.data, { image: { threads: value } });
      // A call between two changes, so that each size really works.
      await server.call('/images/transform?op=negate', {
        method: 'POST',
        key,
        type: 'image/jpeg',
        body: new Uint8Array(picture),
      });
    }
    isOver = true;
    await Promise.all(callers);
    t.same(failed, []);
    t.ok(answered >= callers.length);
    await until(async () => (await threadsNow()) <= before);
    t.pass(`no thread is left over after ${CHANGES} changes`);
  },
);

t.test('render threads change their number, and the log its level for a while', async (t) => {
  const server = await startServer(t);
  const { coordination } = server.stores;
  await askProcesses(coordination, {
    kind: 'set',
    name: 'RENDER_THREADS',
    value: 3,
    save: false,
    by: 'a test',
  });
  t.match((await askProcesses(coordination, { kind: 'pools' }))[0]?.data, { render: { threads: 3 } });
  await askProcesses(coordination, {
    kind: 'set',
    name: 'RENDER_THREADS',
    value: 1,
    save: false,
    by: 'a test',
  });
  t.match((await askProcesses(coordination, { kind: 'pools' }))[0]?.data, { render: { threads: 1 } });
  await askProcesses(coordination, { kind: 'log', level: 'debug', forMs: null, by: 'a test' });
  t.match((await askProcesses(coordination, { kind: 'pools' }))[0]?.data, { logLevel: 'debug' });
});

t.test('the length of the queue is in force for the next call', async (t) => {
  const server = await startServer(t, {
    settings: { SYNC_CALLS_PER_ACCOUNT: '64', REQUESTS_PER_MINUTE: '1000000', IMAGE_WAIT_MS: '60000' },
  });
  const { coordination } = server.stores;
  const { key } = await server.account();
  const body = await sharp({ create: { width: 2_000, height: 2_000, channels: 3, background: '#37c' } })
    .jpeg()
    .toBuffer();
  const statuses = async () => {
    const call = async () => {
      const path = '/images/transform?op=blur&sigma=5';
      return (
        await server.call(path, { method: 'POST', key, type: 'image/jpeg', body: new Uint8Array(body) })
      ).status;
    };
    return (await Promise.all([call(), call(), call(), call(), call()])).sort();
  };
  const set = async (name: 'IMAGE_QUEUE' | 'IMAGE_WAIT_MS', value: number) => {
    const [answer] = await askProcesses(coordination, {
      kind: 'set',
      name,
      value,
      save: false,
      by: 'a test',
    });
    t.same(answer?.data, { [name]: value });
  };
  t.same(await statuses(), [200, 200, 200, 200, 200]);
  await set('IMAGE_QUEUE', 0);
  const refused = (await statuses()).filter((status) => status === 503).length;
  t.ok(refused > 0 && refused < 5, `without a queue ${refused} of 5 are refused`);
  await set('IMAGE_QUEUE', 64);
  t.same(await statuses(), [200, 200, 200, 200, 200]);
  await set('IMAGE_WAIT_MS', 60_000);
});
