import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cached, findProgram, type OwnServer, startServer } from '../../../bench/services/server.ts';

/** One known state of it, so that every machine tests against the same. */
const MINIO = 'github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c';
const BUILD_TIMEOUT_MS = 15 * 60_000;
const run = promisify(execFile);

/** MinIO with its credentials, which the SDK's default chain finds under these names in the environment. */
export interface TestMinio extends OwnServer {
  credentials: { AWS_ACCESS_KEY_ID: string; AWS_SECRET_ACCESS_KEY: string };
}

/**
 * A MinIO of its own, built once by Go when it is not on the PATH; null, with a message on stderr, when none can run.
 */
export async function startMinio(): Promise<TestMinio | null> {
  const command = await findMinio();
  if (command === null) return null;
  const credentials = { AWS_ACCESS_KEY_ID: 'darkroom-test', AWS_SECRET_ACCESS_KEY: 'darkroom-test-secret' };
  const server = await startServer({
    command,
    args: (port, directory) => [
      'server',
      '--quiet',
      '--address',
      `127.0.0.1:${port}`,
      '--console-address',
      '127.0.0.1:0',
      directory,
    ],
    env: {
      MINIO_ROOT_USER: credentials.AWS_ACCESS_KEY_ID,
      MINIO_ROOT_PASSWORD: credentials.AWS_SECRET_ACCESS_KEY,
      MINIO_BROWSER: 'off',
      MINIO_UPDATE: 'off',
    },
    url: (port) => `http://127.0.0.1:${port}`,
    isReady: isHealthy,
  });
  return { ...server, credentials };
}

/** The path of MinIO's program, from the PATH or built; null, with a message on stderr, when there is none. */
export async function findMinio(): Promise<string | null> {
  return (await findProgram('minio')) ?? (await build());
}

/** Three minutes of one core at the lowest priority: the compiler optimises nothing, which is most of its work. */
async function build(): Promise<string | null> {
  const go = await findProgram('go');
  if (go === null) return missing('Go builds it, and is not there.');
  const folder = await cached('minio', async (folder) => {
    console.error('Building MinIO for the tests of S3, once. This takes minutes.');
    const quickly = ['-gcflags=all=-N -l', '-ldflags=-s -w'];
    const args = ['-n', '19', go, 'install', ...quickly, MINIO];
    await run('nice', args, { timeout: BUILD_TIMEOUT_MS, env: { ...process.env, GOBIN: folder } });
  }).catch((error) => missing(String(error)));
  return folder && join(folder, 'minio');
}

function missing(reason: string): null {
  console.error(`No MinIO can run here, the tests of S3 are SKIPPED. ${reason}`);
  return null;
}

async function isHealthy(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/minio/health/ready`)).ok;
  } catch {
    return false;
  }
}
