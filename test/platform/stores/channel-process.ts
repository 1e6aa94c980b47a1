import { setTimeout as sleep } from 'node:timers/promises';
import { channelToPrimary } from '../../../src/platform/stores/embedded/channel-client.ts';

/** An API process of channel.test.ts: does what CHANNEL_TASK says and tells the primary how it went. */
const channel = channelToPrimary();
const tell = (message: object) => process.send?.({ report: message });

if (process.env.CHANNEL_TASK === 'burst') {
  channel.on('echo', (event) => tell({ event }));
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => channel.call('echo', 'say', [{ index }])),
  );
  const errors = await Promise.all(
    ['duplicate', 'unavailable', 'other'].map((kind) =>
      channel.call('echo', 'fail', [kind]).catch((error) => ({
        own: error.constructor.name,
        index: error.index,
        message: error.message,
      })),
    ),
  );
  tell({ answers, errors });
}
if (process.env.CHANNEL_TASK === 'ask-and-die') {
  void channel.call('echo', 'never', []);
  await channel.call('echo', 'say', ['ready to die']);
  process.kill(process.pid, 'SIGKILL');
}
await sleep(30_000, undefined, { ref: false });
