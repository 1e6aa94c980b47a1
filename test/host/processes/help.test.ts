// needs: nothing
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';

/** What a script prints, called in an empty directory. */
function called(t: { teardown(end: () => void): void }, script: string, ...words: string[]) {
  const cwd = mkdtempSync(join(tmpdir(), 'darkroom-help-'));
  t.teardown(() => rmSync(cwd, { recursive: true, force: true }));
  const file = join(import.meta.dirname, '../../..', script);
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...words], {
    cwd,
    encoding: 'utf8',
    env: { PATH, NODE_COMPILE_CACHE, DATA_DIR: join(cwd, 'data'), PORT: '1' },
  });
  return { status, stdout, stderr, hasData: existsSync(join(cwd, 'data')) };
}

t.test('--help says what a command does, and begins nothing', async (t) => {
  for (const script of ['src/host/main.ts', 'src/host/doctor.ts', 'src/host/admin.ts', 'test/run.ts']) {
    const { status, stdout, stderr, hasData } = called(t, script, '--help');
    t.same([status, stderr, hasData], [0, '', false], script);
    t.match(stdout, /npm|Commands/, script);
  }
});

t.test('an option that is none is refused by its name, before anything is begun', async (t) => {
  for (const script of ['src/host/main.ts', 'src/host/doctor.ts']) {
    const { status, stderr, hasData } = called(t, script, '--port=8080');
    t.same([status, hasData], [2, false], script);
    t.match(stderr, /^"--port=8080" is not an option here\.\nnpm /, script);
  }
});
