// needs: nothing
import { spawn } from 'node:child_process';
import { register } from 'prom-client';
import t from 'tap';
import { installHostMetrics } from '../../../src/platform/metrics/host.ts';
import { type ProcessTableRow, readProcessTable } from '../../../src/platform/metrics/proc.ts';

const MEGABYTE = 1_048_576;

const seriesOf = async (name: string): Promise<Record<string, number>> => {
  const { values = [] } = (await register.getSingleMetric(name)?.get()) ?? {};
  return Object.fromEntries(values.map(({ labels, value }) => [Object.values(labels).join(' '), value]));
};

t.test('processes count by role, and CPU time never falls when one of them ends', async (t) => {
  let rows: ProcessTableRow[] = [];
  const row = (id: string, role: ProcessTableRow['role'], cpuSeconds: number): ProcessTableRow => ({
    ...{ id, role, cpuSeconds },
    residentBytes: 10 * MEGABYTE,
  });
  t.teardown(() => register.clear());
  installHostMetrics({
    version: '1.2.3',
    readDisk: async () => ({ freeBytes: 5_000, reservedBytes: 1_000 }),
    cores: 1.5,
    table: async () => rows,
  });
  rows = [row('1/1', 'primary', 2), row('2/1', 'browser', 5), row('3/1', 'browser', 1)];
  await register.metrics();
  t.same(await seriesOf('darkroom_processes'), { primary: 1, browser: 2 });
  t.same(await seriesOf('darkroom_process_memory_bytes'), {
    primary: 10 * MEGABYTE,
    browser: 20 * MEGABYTE,
  });
  t.same(await seriesOf('darkroom_process_cpu_seconds_total'), { primary: 2, browser: 6 });
  rows = [row('1/1', 'primary', 2.5), row('3/1', 'browser', 1), row('2/9', 'heavy', 1)];
  t.same(await seriesOf('darkroom_process_cpu_seconds_total'), { primary: 2.5, browser: 6, heavy: 1 });
  t.same(await seriesOf('darkroom_processes'), { primary: 1, browser: 1, heavy: 1 });
  t.same(await seriesOf('darkroom_build_info'), { [`1.2.3 ${process.versions.node}`]: 1 });
  t.same(await seriesOf('darkroom_cpu_cores'), { '': 1.5 });
  t.ok(((await seriesOf('darkroom_data_free_bytes'))[''] ?? 0) > 0);
});

/** The files of a process in a folder like /proc. */
function processFiles(pid: number, parent: number, niceness: number, command: string) {
  const fields = ['S', parent, ...Array(9).fill(0), 7, 3, 0, 0, 20, niceness, 1, 0, 100 + pid];
  return {
    stat: `${pid} (node) ${fields.join(' ')}`,
    status: 'VmRSS:\t2048 kB\n',
    cmdline: `node\0${command}\0`,
  };
}

t.test('the processes of images have the role of their priority beside that of the service', async (t) => {
  for (const [usual, slow, batch, heavy] of [
    [0, 3, 5, 10],
    [10, 13, 15, 19],
  ] as const) {
    const image = '/app/workers/image/process.ts';
    const folder = t.testdir({
      1: processFiles(1, 0, usual, '/app/src/host/main.ts'),
      2: processFiles(2, 1, usual, '/app/src/host/server.ts'),
      3: processFiles(3, 2, usual, image),
      4: processFiles(4, 2, slow, image),
      5: processFiles(5, 2, batch, image),
      6: processFiles(6, 2, heavy, image),
      7: processFiles(7, 2, 19, '/app/workers/vector/process.ts'),
      8: processFiles(8, 0, usual, '/app/src/host/server.ts'),
    });
    const rows = (await readProcessTable(1, folder)).sort((one, other) => one.id.localeCompare(other.id));
    t.same(
      rows.map(({ role }) => role),
      ['primary', 'api', 'image', 'slow', 'batch', 'heavy', 'vector'],
      `a service at niceness ${usual}`,
    );
    t.match(rows[0], { id: '1/101', residentBytes: 2 * MEGABYTE, cpuSeconds: 0.1 });
  }
});

t.test('a process and what it started are found, with memory and CPU time', async (t) => {
  // It waits for its input, which ends with this process.
  const child = spawn('sh', ['-c', 'read line', '/workers/image/process.ts'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const rows = await readProcessTable();
  const [self] = rows;
  t.match(self, { role: 'primary' });
  t.ok((self?.residentBytes ?? 0) > MEGABYTE && (self?.cpuSeconds ?? 0) > 0);
  const started = rows.find(({ id }) => id.startsWith(`${child.pid}/`));
  t.match(started, { role: 'image' });
  t.same(await readProcessTable(1, t.testdir({})), [], 'nothing is found where there is no /proc');
});
