// needs: nothing
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import t from 'tap';
import { chooseAllocator } from '../../../src/host/processes/memory.ts';

t.test("the system's allocator is started with few arenas", async (t) => {
  t.strictSame(chooseAllocator('system'), { name: 'system', environment: { MALLOC_ARENA_MAX: '2' } });
});

t.test('a library that cannot be preloaded is refused with what is accepted', async (t) => {
  for (const path of ['/no/such/library.so', import.meta.filename, 'libjemalloc.so.2']) {
    t.throws(() => chooseAllocator(path), {
      name: 'SettingsError',
      message: /^ALLOCATOR is ".*", but this file cannot be preloaded: .*auto or system\.$/,
    });
  }
});

t.test('auto takes a library that the host has, and its processes really have it', async (t) => {
  const { name, environment } = chooseAllocator('auto');
  if (name === 'system') {
    t.notOk('LD_PRELOAD' in environment);
    return;
  }
  t.ok(existsSync(name));
  t.match(environment, { MALLOC_ARENA_MAX: '2', MALLOC_CONF: 'narenas:2,dirty_decay_ms:60000' });
  const maps = 'process.stdout.write(require("fs").readFileSync("/proc/self/maps"))';
  const printed = execFileSync(process.execPath, ['-e', maps], { env: environment, encoding: 'utf8' });
  t.match(printed, /lib(jemalloc|mimalloc)\.so/);
});
