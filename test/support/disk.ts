import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';

/** Mounts a small disk for the time of the test; null where this user may not. */
export function mountDisk(t: Pick<Test, 'teardown'>, megabytes: number): string | null {
  const directory = mkdtempSync(join(tmpdir(), 'darkroom-disk-'));
  let isMounted = true;
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', directory], {
      stdio: 'ignore',
    });
  } catch {
    isMounted = false;
  }
  t.teardown(() => {
    if (isMounted) execFileSync('umount', [directory]);
    rmSync(directory, { recursive: true, force: true });
  });
  return isMounted ? directory : null;
}
