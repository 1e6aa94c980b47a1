// needs: nothing
import { spawn } from 'node:child_process';
import { register } from 'prom-client';
import t from 'tap';
import { createHostMeter } from '../../../src/platform/metrics/host.ts';
import { processTable, type TableRow } from '../../../src/platform/metrics/process-table.ts';

const MEGABYTE = 1_048_576;

const seriesOf = async (name: string): Promise<Record<string, number>> => {
  const { values = [] } = (await register.getSingleMetric(name)?.get()) ?? {};
  return Object.fromEntries(values.map(({ labels, value }) => [Object.values(labels).join(' '), value]));
};

t.test('processes count by role, and CPU time never falls when one of them ends', async (t) => {
  let rows: TableRow[] = [];
  const row = (id: string, role: TableRow['role'], cpuSeconds: number): TableRow => ({
    ...{ id, role, cpuSeconds },
    residentBytes: 10 * MEGABYTE,
  });
  createHostMeter({ version: '1.2.3', dataDir: t.testdir(), cores: 1.5, table: async () => rows });
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

t.test('a process and what it started are found, with memory and CPU time', async (t) => {
  // It waits for its input, which ends with this process.
  const child = spawn('sh', ['-c', 'read line', '/workers/image/process.ts'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const rows = await processTable();
  const [self] = rows;
  t.match(self, { role: 'primary' });
  t.ok((self?.residentBytes ?? 0) > MEGABYTE && (self?.cpuSeconds ?? 0) > 0);
  const started = rows.find(({ id }) => id.startsWith(`${child.pid}/`));
  t.match(started, { role: 'image' });
  t.same(await processTable(1, t.testdir({})), [], 'nothing is found where there is no /proc');
});
