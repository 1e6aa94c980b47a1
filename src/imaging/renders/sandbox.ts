import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const SANDBOX_PROBE_TIMEOUT_MS = 2_000;

/**
 * The reason why Chromium would run without its sandbox on this host; null if there is none. It is found without
 * starting Chromium. A host without `unshare` (util-linux) is not tested; there, the browser finds out at its first
 * page.
 */
export async function findSandboxObstacle(): Promise<string | null> {
  if (process.getuid?.() === 0) return 'the service runs as root';
  try {
    await promisify(execFile)('unshare', ['--user', 'true'], { timeout: SANDBOX_PROBE_TIMEOUT_MS });
    return null;
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return isAbsent ? null : 'the kernel grants no user namespaces';
  }
}
