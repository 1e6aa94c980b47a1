// needs: service
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { startWholeService, until, type WholeService } from '../../support/whole-service.ts';

/** Kills the next processes that start, one after another, before they listen. */
async function killNewcomers(
  { children }: WholeService,
  known: readonly number[],
  count: number,
): Promise<void> {
  const seen = new Set(known);
  for (let killed = 0; killed < count; killed += 1) {
    let newcomer: number | undefined;
    await until(async () => {
      newcomer = (await children()).find((pid) => !seen.has(pid));
      return newcomer !== undefined;
    });
    seen.add(newcomer ?? 0);
    process.kill(newcomer ?? 0, 'SIGKILL');
  }
}

function linesOf(service: WholeService, message: RegExp): string[] {
  return service
    .printed()
    .split('\n')
    .filter((line) => message.test(line));
}

t.test('the only process of a service is replaced, or stays', async (t) => {
  const service = await startWholeService(t, { PROCESSES: '1' });

  await t.test('where no process could be replaced, nothing says that one was', async (t) => {
    const before = await service.children();
    service.signal('SIGHUP');
    await killNewcomers(service, before, 3);
    await until(() => linesOf(service, /were not replaced/).length > 0);
    t.same(await service.children(), before);
    t.same(linesOf(service, /replaced one by one/), []);
  });

  await t.test('a replacement that dies before it listens is tried again and takes no place', async (t) => {
    const [old = 0] = await service.children();
    const triesBefore = linesOf(service, /A replacement did not start/).length;
    service.signal('SIGHUP');
    await killNewcomers(service, [old], 1);
    await until(async () => !(await service.children()).includes(old));
    const first = await service.children();
    t.equal(first.length, 1, 'one process is there, as was asked');
    // A second round ends behind everything that the first one may have started beside it.
    service.signal('SIGHUP');
    await until(async () => !(await service.children()).some((pid) => first.includes(pid)));
    t.equal((await service.children()).length, 1);
    t.equal(linesOf(service, /A replacement did not start/).length - triesBefore, 1);
  });
});

t.test('SIGHUP tells what the settings file would change, and does nothing where it is wrong', async (t) => {
  const ENV_FILE = join(t.testdir(), 'darkroom.env');
  writeFileSync(ENV_FILE, 'IMAGE_QUEUE=50\n');
  const service = await startWholeService(t, { PROCESSES: '1', ENV_FILE });
  const before = await service.children();
  writeFileSync(ENV_FILE, 'IMAGE_QUEUE=many\n');
  service.signal('SIGHUP');
  await until(() => linesOf(service, /No API process was replaced.*IMAGE_QUEUE is .*many/).length > 0);
  writeFileSync(ENV_FILE, 'IMAGE_QUEUEE=50\n');
  service.signal('SIGHUP');
  await until(() => linesOf(service, /a restart would fail.*Did you mean IMAGE_QUEUE/).length > 0);
  t.same(await service.children(), before);

  writeFileSync(ENV_FILE, 'IMAGE_QUEUE=60\n');
  service.signal('SIGHUP');
  await until(() => linesOf(service, /1 of 1 API processes were replaced/).length > 0);
  t.match(linesOf(service, /A restart takes in/), [/settings file says otherwise: IMAGE_QUEUE\./]);
  t.same(linesOf(service, /Every API process is replaced/).length, 1);
});

t.test('a process that cannot be replaced stays, which is said, and the others are replaced', async (t) => {
  const service = await startWholeService(t, { PROCESSES: '2' });
  const before = await service.children();
  service.signal('SIGHUP');
  await killNewcomers(service, before, 3);
  await until(() => linesOf(service, /were not replaced/).length > 0);
  const after = await service.children();
  t.equal(after.length, 2);
  t.equal(after.filter((pid) => before.includes(pid)).length, 1, 'the other one was replaced');
  t.match(linesOf(service, /replaced one by one/), [/1 of 2 API processes were replaced/]);
  t.match(linesOf(service, /No replacement of an API process started/)[0], /"level":50.*"processId":\d/);
  t.equal((await fetch(`${service.url}/healthz`)).status, 200);
});
