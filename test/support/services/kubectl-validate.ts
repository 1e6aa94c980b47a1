import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cached } from './cache.ts';
import { findProgram } from './programs.ts';

const run = promisify(execFile);
const BUILD_TIMEOUT_MS = 15 * 60_000;
const PACKAGE = 'sigs.k8s.io/kubectl-validate@v0.0.4';

/**
 * The path of kubectl-validate, which holds a manifest against the schemas that it carries: from the PATH, or built
 * once by Go. Null, with a message on stderr, when there is none.
 */
export async function findKubectlValidate(): Promise<string | null> {
  const found = await findProgram('kubectl-validate');
  if (found !== null) return found;
  const go = await findProgram('go');
  if (go === null) return missing('Go builds it, and is not there.');
  const folder = await cached('kubectl-validate', async (folder) => {
    console.error('Building kubectl-validate for the manifests of deploy/, once. This takes minutes.');
    const args = ['-n', '19', go, 'install', '-gcflags=all=-N -l', '-ldflags=-s -w', PACKAGE];
    await run('nice', args, { timeout: BUILD_TIMEOUT_MS, env: { ...process.env, GOBIN: folder } });
  }).catch((error) => missing(String(error)));
  return folder && join(folder, 'kubectl-validate');
}

function missing(reason: string): null {
  console.error(`No kubectl-validate can run here, the manifests are NOT checked. ${reason}`);
  return null;
}
