// needs: server, alone, waits
import { randomBytes } from 'node:crypto';
import { statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import t from 'tap';
import { grantedCores } from '../../../src/platform/concurrency/control-group.ts';
import { mountDisk } from '../../support/disk.ts';
import { until } from '../../support/whole-service.ts';
import { openPlanted } from './planted.ts';

/** Faults that an operator has to find: each is planted in a running service, and found by what its page shows. */
const DISK_MEGABYTES = 400;

const disk = mountDisk(t, DISK_MEGABYTES);
const { service, state, act, named, load } = await openPlanted(t, {
  ...{ IMAGE_THREADS: '1', SYNC_CALLS_PER_ACCOUNT: '6' },
  ...(disk !== null && { DATA_DIR: disk }),
});

const noise = await sharp(randomBytes(1_500 * 1_500 * 3), {
  raw: { width: 1_500, height: 1_500, channels: 3 },
})
  .jpeg()
  .toBuffer();
const photo = new Uint8Array(noise);
const small = new Uint8Array(await sharp(noise).resize(500).jpeg().toBuffer());

t.test(
  'one image thread for several cores is found, and fixed by the setting that the page names',
  { skip: grantedCores() < 2 && 'this machine has one core' },
  async (t) => {
    const stop = load(6, '/images/transform?op=resize&width=1000&format=webp', photo);
    const { fix } = (await named(/1 image thread for \d+ cores/)) ?? {};
    t.match(fix, { setting: 'IMAGE_THREADS' });
    await act('/settings', { ...fix });
    const [host] = (await state())?.hosts ?? [];
    t.equal(host?.settings.IMAGE_THREADS, fix?.value);
    t.match(host?.history.marks.at(-1), {
      kind: 'set',
      by: /operator's interface/,
      text: /IMAGE_THREADS 1 → \d/,
    });
    await until(async () => {
      await pause(500);
      const sentences = (await state())?.hosts.flatMap(({ verdicts }) => verdicts) ?? [];
      return sentences.length > 0 && sentences.every(({ sentence }) => !/image thread/.test(sentence));
    });
    await stop();
  },
);

t.test('an account that floods is found', async (t) => {
  const stop = load(24, '/images/transform?op=resize&width=300&format=webp', small);
  const flood = await named(/The account acc_\w+ floods/);
  t.match(flood?.sentence, /account_concurrency/);
  await stop();
});

t.test('a process that hangs is found, and its replacement is told of', async (t) => {
  await act('/settings', { setting: 'PROCESSES', value: 2, yes: true });
  const [pid = 0] = await service.children();
  process.kill(pid, 'SIGSTOP');
  t.match(await named(/hangs: it has not answered/), { tone: 'bad' });
  await named(/hung and is replaced/);
  const [host] = (await state())?.hosts ?? [];
  t.match(host?.restarts, { hung: 1 });
  t.match(host?.history.marks.at(-1), { kind: 'restart', text: /hung/ });
});

t.test('a full disk is found', { skip: disk === null && 'only root may mount a small disk' }, async (t) => {
  const { bavail, bsize } = statfsSync(disk ?? '');
  const left = 8 * 2 ** 20;
  writeFileSync(join(disk ?? '', 'filling'), Buffer.alloc(Math.max(0, bavail * bsize - left)));
  t.match(await named(/The disk of DATA_DIR is full/), { tone: 'bad' });
});
