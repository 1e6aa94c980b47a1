// needs: nothing
import { join } from 'node:path';
import t, { type Test } from 'tap';
import {
  readControlGroupLimits,
  readMemoryKills,
  readThrottledSeconds,
} from '../../../src/platform/concurrency/control-group.ts';

/** The mount of control groups, and /proc/self/cgroup of a process in them. */
const filesOf = (t: Test, membership: string, groups: Parameters<Test['testdir']>[0]) => {
  const folder = t.testdir({ membership, groups: groups ?? {} });
  return { root: join(folder, 'groups'), membership: join(folder, 'membership') };
};
const NOTHING = { cores: null, memoryBytes: null, tasks: null };

t.test('version 2: the least of the own group and of all its parents counts', async (t) => {
  const files = filesOf(t, '0::/system.slice/darkroom.service\n', {
    'cpu.max': 'max 100000\n',
    'system.slice': {
      'cpu.max': '50000 100000\n',
      'memory.max': '8000\n',
      'pids.max': '300\n',
      'memory.events': 'low 0\noom 9\noom_kill 9\n',
      'cpu.stat': 'usage_usec 9\nnr_periods 10\nnr_throttled 4\nthrottled_usec 1500000\n',
      'darkroom.service': {
        'cpu.max': '200000 100000\n',
        'memory.max': 'max\n',
        'memory.high': '7000\n',
        'pids.max': '4096\n',
        'cpu.stat': 'usage_usec 9\nnr_periods 10\nnr_throttled 1\nthrottled_usec 500000\n',
        'memory.events': 'low 0\noom 2\noom_kill 3\n',
      },
    },
  });
  t.same(readControlGroupLimits(files), { cores: 0.5, memoryBytes: 7_000, tasks: 300 });
  t.equal(readThrottledSeconds(files), 1.5);
  t.equal(readMemoryKills(files), 3, 'those of other services in the parent do not count');
});

t.test('version 1: each controller has a hierarchy and a path of its own', async (t) => {
  const cpu = (quota: string) => ({ 'cpu.cfs_quota_us': `${quota}\n`, 'cpu.cfs_period_us': '100000\n' });
  const membership = '7:pids:/a\n4:memory:/m/n\n1:cpu,cpuacct:/a/b\n0::/elsewhere\n';
  const files = filesOf(t, membership, {
    cpu: {
      ...cpu('-1'),
      a: {
        ...cpu('150000'),
        'cpu.stat': 'nr_periods 10\nnr_throttled 4\nthrottled_time 2500000000\n',
        b: cpu('-1'),
      },
      other: cpu('1000'),
    },
    memory: {
      m: {
        'memory.limit_in_bytes': '9223372036854771712\n',
        n: { 'memory.limit_in_bytes': '900\n', 'memory.oom_control': 'under_oom 0\noom_kill 2\n' },
      },
    },
    pids: { 'pids.max': 'max\n', a: { 'pids.max': '100\n' } },
  });
  t.same(readControlGroupLimits(files), { cores: 1.5, memoryBytes: 900, tasks: 100 });
  t.equal(readThrottledSeconds(files), 2.5);
  t.equal(readMemoryKills(files), 2);
});

t.test('a container that sees its own group as the root is limited by it', async (t) => {
  const second = filesOf(t, '0::/\n', { 'cpu.max': '150000 100000\n' });
  t.equal(readControlGroupLimits(second).cores, 1.5);
  const first = filesOf(t, '1:cpu,cpuacct:/docker/abc\n', {
    cpu: { 'cpu.cfs_quota_us': '50000\n', 'cpu.cfs_period_us': '100000\n' },
  });
  t.equal(readControlGroupLimits(first).cores, 0.5);
  const outside = filesOf(t, '0::/../../init.scope\n', { 'cpu.max': '300000 100000\n' });
  t.equal(readControlGroupLimits(outside).cores, 3);
});

t.test('both versions side by side: the second one lies in a folder of its own', async (t) => {
  const files = filesOf(t, '1:name=systemd:/x\n0::/x\n', { unified: { x: { 'cpu.max': '25000 100000\n' } } });
  t.equal(readControlGroupLimits(files).cores, 0.25);
});

t.test('without limits, or without control groups, nothing is limited and nothing is counted', async (t) => {
  const unlimited = filesOf(t, '0::/a\n', { a: { 'cpu.max': 'max 100000\n', 'pids.max': 'max\n' } });
  t.same(readControlGroupLimits(unlimited), NOTHING);
  const none = { root: join(t.testdirName, 'none'), membership: join(t.testdirName, 'none') };
  t.same(readControlGroupLimits(none), NOTHING);
  t.equal(readThrottledSeconds(none), null);
});
