// needs: server
import { readFile } from 'node:fs/promises';
import t from 'tap';
import { askPrimary } from '../../../src/host/admin/socket.ts';
import { startWholeService } from '../../support/whole-service.ts';

interface Shown {
  processes: Array<{
    hostId: string;
    processId: string;
    image: { threads: number };
    logLevel: string;
    [name: string]: unknown;
  }>;
}

t.test('an operator sees and changes the pools of a running service', async (t) => {
  const service = await startWholeService(t, { PROCESSES: '2' });
  const admin = async (...words: string[]) => {
    const answer = await askPrimary(service.directory, words);
    if (answer === null) throw new Error('The primary does not answer.');
    return { ...answer, shown: answer.data as unknown as Shown };
  };
  const before = await admin('pools');
  t.equal(before.shown.processes.length, 2);
  t.match(before.text, /process +pid +MB/);

  await admin('set', 'IMAGE_THREADS=2');
  t.same(
    (await admin('pools')).shown.processes.map(({ image }) => image.threads),
    [2, 2],
  );
  await admin('set', 'PROCESSES=3');
  const grown = await admin('pools');
  t.same(
    grown.shown.processes.map(({ image }) => image.threads),
    [2, 2, 2],
    'a new process has what was set before',
  );
  await admin('set', 'IMAGE_THREADS=8');
  await admin('set', 'PROCESSES=4');
  const environments = await Promise.all(
    (await service.children()).map((pid) => readFile(`/proc/${pid}/environ`, 'utf8')),
  );
  const threadsOf = (environment: string) => /UV_THREADPOOL_SIZE=(\d+)/.exec(environment)?.[1];
  t.same(environments.map(threadsOf).sort(), ['20', '8', '8', '8'], 'and libuv’s threads for it');
  await admin('set', 'IMAGE_THREADS=2');
  await admin('set', 'PROCESSES=3');
  await admin('log', 'warn', '--for', '10m');
  t.ok((await admin('pools')).shown.processes.every(({ logLevel }) => logLevel === 'warn'));

  const [first] = grown.shown.processes;
  await admin('drain', `${first?.hostId}/${first?.processId}`);
  const drained = await admin('pools');
  t.equal(drained.shown.processes.length, 3);
  t.notOk(drained.shown.processes.some(({ processId }) => processId === first?.processId));
  t.equal((await fetch(`${service.url}/healthz`)).status, 200);

  for (const [words, sentence] of [
    [['set', 'DATA_DIR=x'], /PROCESSES, IMAGE_THREADS, RENDER_THREADS can/],
    [['set', 'IMAGE_THREADS=0'], /1 to 64/],
    [['drain', 'nobody/1'], /No host nobody/],
    [['drain', `${first?.hostId}/999`], /no process 999/],
    [['drain', 'x'], /HOST\/PROCESS/],
    [['log', 'loud'], /no level/],
    [['log', 'info', '--for', '10'], /10m/],
  ] as const) {
    const outcome = await admin(...words).then(
      ({ text }) => text,
      (error: Error) => error.message,
    );
    t.match(outcome, sentence, words.join(' '));
  }
});
