// needs: documents, alone
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { DuplicateKeyError, StoreUnavailableError } from '../../../src/platform/stores/documents/port.ts';
import { PrimaryChannelHost } from '../../../src/platform/stores/embedded/channel.ts';
import { channelPair } from './channel-pair.ts';

cluster.setupPrimary({ exec: fileURLToPath(new URL('./channel-process.ts', import.meta.url)) });

const askers: number[] = [];
const host = new PrimaryChannelHost();
host.provide('echo', async (method, args, processId) => {
  askers.push(processId);
  if (method === 'never') return new Promise(() => {});
  if (method === 'say') return args[0];
  if (args[0] === 'duplicate') throw new DuplicateKeyError('email');
  if (args[0] === 'unavailable') throw new StoreUnavailableError('The disk is gone.');
  throw new TypeError('No such thing.');
});

/** The next report of a process that `wanted` accepts. */
function report(worker: Worker, wanted: string): Promise<Record<string, unknown>> {
  return new Promise((resolve) => {
    worker.on('message', (message) => {
      if (message.report !== undefined && wanted in message.report) resolve(message.report);
    });
  });
}

t.test('calls of a process are answered, errors as themselves, events reach it', async (t) => {
  const worker = cluster.fork({ CHANNEL_TASK: 'burst' });
  const { answers, errors } = await report(worker, 'answers');
  t.same(
    answers,
    Array.from({ length: 100 }, (_, index) => ({ index })),
  );
  t.match(errors, [
    { own: 'DuplicateKeyError', index: 'email' },
    { own: 'StoreUnavailableError', message: 'The disk is gone.' },
    { own: 'Error', message: 'No such thing.' },
  ]);
  t.ok(askers.every((id) => id === worker.id));

  const spare = cluster.fork({ CHANNEL_TASK: 'spare' });
  await report(spare, 'spare');
  const told = report(worker, 'event');
  t.equal(
    host.broadcast('echo', { news: 1 }),
    1,
    'a process without a channel receives none, and is not counted',
  );
  t.same(await told, { event: { news: 1 } });
  for (const process of [worker, spare]) {
    process.kill();
    await once(process, 'exit');
  }
});

t.test('a process that dies with a call open leaves the primary serving the next', async (t) => {
  const dying = cluster.fork({ CHANNEL_TASK: 'ask-and-die' });
  await once(dying, 'exit');
  host.broadcast('echo', { news: 2 });

  const next = cluster.fork({ CHANNEL_TASK: 'burst' });
  t.ok(await report(next, 'answers'));
  next.kill();
  await once(next, 'exit');
});

t.test('a call whose primary is gone rejects, and so does the next', async (t) => {
  const pair = channelPair();
  pair.host.provide('slow', () => new Promise(() => {}));
  const open = t.rejects(pair.channel.call('slow', 'wait', []), StoreUnavailableError);
  pair.cut();
  await open;
  await t.rejects(pair.channel.call('slow', 'wait', []), StoreUnavailableError);
});

t.test('a service that nobody provides is an error of the call', async (t) => {
  await t.rejects(channelPair().channel.call('nobody', 'hear', []), /provides no service nobody/);
});
