import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

/**
 * Short name of a commit of this repository.
 * @param ref a commit, branch or tag; without it, the one that is checked out, with `-dirty` if files were changed.
 * @returns null for an unknown ref, and outside a checkout.
 */
export function commitOf(ref?: string): string | null {
  const args =
    ref === undefined
      ? ['describe', '--always', '--dirty', '--exclude', '*']
      : ['rev-parse', '--short', '--verify', '--end-of-options', `${ref}^{commit}`];
  try {
    const stdio: 'pipe'[] = ['pipe', 'pipe', 'pipe'];
    return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio }).trim();
  } catch {
    return null;
  }
}
