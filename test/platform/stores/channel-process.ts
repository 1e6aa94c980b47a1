import { setTimeout as sleep } from 'node:timers/promises';
import { PrimaryChannel } from '../../../src/platform/stores/embedded/channel.ts';

/** An API process of channel.test.ts: performs the task of CHANNEL_TASK and reports the result to the primary. */
if (process.env.CHANNEL_TASK === 'spare') {
  process.send?.({ report: { spare: true } });
  await sleep(30_000, undefined, { ref: false });
}
const channel = new PrimaryChannel();
const report = (message: object) => process.send?.({ report: message });

if (process.env.CHANNEL_TASK === 'burst') {
  channel.on('echo', (event) => report({ event }));
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
  report({ answers, errors });
}
if (process.env.CHANNEL_TASK === 'ask-and-die') {
  void channel.call('echo', 'never', []);
  await channel.call('echo', 'say', ['ready to die']);
  process.kill(process.pid, 'SIGKILL');
}
await sleep(30_000, undefined, { ref: false });
