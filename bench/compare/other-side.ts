import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { cp, mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commitOf } from '../commit.ts';
import { type LoadTarget, openTarget, startTarget, type TargetOptions } from '../load/target.ts';
import { atExit } from '../stopping.ts';

const ROOT = join(import.meta.dirname, '../..');

/**
 * The side to compare with: an instance by its URL, or the service at a git ref, started here.
 * @throws Error for what is neither.
 */
export async function openOtherSide(against: string, options: TargetOptions): Promise<LoadTarget> {
  if (/^https?:\/\//.test(against)) return openTarget({ ...options, url: against });
  const commit = commitOf(against);
  if (commit === null)
    throw new Error(
      `--against is "${against}", but a commit, branch or tag of this repository is expected, or the http address of an instance.`,
    );
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-against-'));
  const tree = join(folder, 'tree');
  const removeTree = () => {
    git('worktree', 'remove', '--force', tree);
    rmSync(folder, { recursive: true, force: true });
  };
  git('worktree', 'add', '--detach', tree, commit);
  const forget = atExit(removeTree);
  const endTree = () => {
    forget();
    removeTree();
  };
  try {
    await installInto(tree);
    const server = await startTarget(options.settings, {
      main: join(tree, 'src/host/main.ts'),
      name: commit.startsWith(against) ? commit : `${against} (${commit})`,
      accounts: options.accounts,
    });
    return { ...server, stop: () => server.stop().finally(endTree) };
  } catch (error) {
    endTree();
    throw error;
  }
}

/** Copies the packages that are the same; installs others from the lock file of the ref. */
async function installInto(tree: string): Promise<void> {
  const [ours, theirs] = await Promise.all(
    [ROOT, tree].map((folder) => readFile(join(folder, 'package-lock.json'), 'utf8')),
  );
  if (ours === theirs) await cp(join(ROOT, 'node_modules'), join(tree, 'node_modules'), { recursive: true });
  else execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: tree, stdio: 'ignore' });
}

function git(...args: string[]): void {
  execFileSync('git', args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] });
}
