// needs: server
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import type { Coordination } from '../../../src/platform/stores/coordination/port.ts';
import { combineStores } from '../../../src/platform/stores/open.ts';
import { ended, submit, uploadPictures } from '../../product/jobs/jobs.ts';
import { openTestStores, startServer } from '../../support/harness.ts';

/** What other processes say on channels whose messages are JSON; on others they say an id. */
const SAID: Record<string, object> = {
  controls: { id: 'early', control: { kind: 'pools' } },
  'presets/gone': { accountId: 'acc_early', tags: ['tag'] },
  'images/late': { key: 'acc_early work', size: 1 },
  'delivery/ended': { lease: 'delivery/early', refusal: { code: 'not_found', message: 'Gone.' } },
};

function messageOn(channel: string): string {
  return channel in SAID ? JSON.stringify(SAID[channel]) : 'job_early';
}

/** Coordination that delivers a message on a channel before it says that the subscription stands, as Redis may. */
function eager(coordination: Coordination, channels: string[]): Coordination {
  return new Proxy(coordination, {
    get(target, name) {
      if (name === 'subscribe')
        return (channel: string, listener: (message: string) => void) => {
          channels.push(channel);
          listener(messageOn(channel));
          return target.subscribe(channel, listener);
        };
      const method: unknown = Reflect.get(target, name);
      return typeof method === 'function' ? method.bind(target) : method;
    },
  });
}

t.test('a process that starts bears messages on every channel as soon as it subscribes', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-early-'));
  const own = await openTestStores(directory, () => new Date());
  t.teardown(async () => {
    await own.close();
    await rm(directory, { recursive: true, force: true });
  });
  const channels: string[] = [];
  const stores = combineStores(own.documents, eager(own.coordination, channels), own.objects);
  const server = await startServer(t, { stores });
  t.ok(channels.includes('jobs/work') && channels.length >= 8, channels.join(' '));
  const account = await server.account({ credits: 5 });
  const [assetId = ''] = await uploadPictures(server, account, 1);
  const { json } = await submit(server, account.key, {
    op: 'resize',
    assetIds: [assetId],
    parameters: { width: 10 },
  });
  t.match(await ended(server, account.key, json.data.id), { status: 'COMPLETED' });
});
