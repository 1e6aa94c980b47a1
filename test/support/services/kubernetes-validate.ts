import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type PythonPackage, pipInstalled } from './pip.ts';

const run = promisify(execFile);
const VERSION = '1.30.0';

/** Resolves with the findings about a manifest, one line each; with none when it keeps the schemas of its kinds. */
export type ManifestCheck = (manifest: string) => Promise<string[]>;

/**
 * A check of manifests against the schemas of Kubernetes 1.30, unknown fields included. The Python package
 * kubernetes-validate carries the schemas; pip installs it once. Null, with a message on stderr, if it cannot.
 */
export async function findKubernetesValidate(): Promise<ManifestCheck | null> {
  const tool = await pipInstalled(
    'kubernetes-validate',
    VERSION,
    'the manifests of deploy/ are NOT checked.',
  );
  return tool === null ? null : (manifest) => findingsAbout(manifest, tool);
}

async function findingsAbout(manifest: string, { python, folder, env }: PythonPackage): Promise<string[]> {
  const program = join(folder, 'bin', 'kubernetes-validate');
  const args = [program, '--strict', '--quiet', '--kubernetes-version', '1.30', manifest];
  const { stdout, stderr } = await run(python, args, { env }).catch((error) => error);
  return `${stdout}${stderr}`.split('\n').filter((line) => line !== '');
}
