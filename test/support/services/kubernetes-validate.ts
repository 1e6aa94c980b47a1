import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cached } from '../../../bench/services/cache.ts';
import { findProgram } from '../../../bench/services/programs.ts';

const run = promisify(execFile);
const INSTALL_TIMEOUT_MS = 5 * 60_000;
const VERSION = '1.30.0';

/** Resolves with the findings about a manifest, one line each; with none when it keeps the schemas of its kinds. */
export type ManifestCheck = (manifest: string) => Promise<string[]>;

/**
 * A check of manifests against the schemas of Kubernetes 1.30, unknown fields included. The Python package
 * kubernetes-validate carries the schemas; pip installs it once. Null, with a message on stderr, if it cannot.
 */
export async function findKubernetesValidate(): Promise<ManifestCheck | null> {
  const python = await findProgram('python3');
  if (python === null) return missing('Python runs it, and is not there.');
  const folder = await cached(`kubernetes-validate-${VERSION}`, async (folder) => {
    console.error('Installing kubernetes-validate for the manifests of deploy/, once.');
    const pip = ['-m', 'pip', 'install', '--quiet', '--no-cache-dir', '--disable-pip-version-check'];
    const target = ['--target', folder, `kubernetes-validate==${VERSION}`];
    await run(python, [...pip, ...target], { timeout: INSTALL_TIMEOUT_MS });
  }).catch((error) => missing(String(error)));
  return folder === null ? null : (manifest) => findingsAbout(manifest, python, folder);
}

async function findingsAbout(manifest: string, python: string, folder: string): Promise<string[]> {
  const program = join(folder, 'bin', 'kubernetes-validate');
  const args = [program, '--strict', '--quiet', '--kubernetes-version', '1.30', manifest];
  const env = { ...process.env, PYTHONPATH: folder };
  const { stdout, stderr } = await run(python, args, { env }).catch((error) => error);
  return `${stdout}${stderr}`.split('\n').filter((line) => line !== '');
}

function missing(reason: string): null {
  console.error(`No kubernetes-validate can run here, the manifests are NOT checked. ${reason}`);
  return null;
}
