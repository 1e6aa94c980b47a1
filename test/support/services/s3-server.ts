import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cachedFolder, findProgram, type OwnServer, startServer } from '../../../bench/services/server.ts';

/** A gateway that keeps a bucket in a folder. It checks signatures and checksums, and takes half the build of MinIO. */
const PROGRAM = 'versitygw';
/** One known state of it, so that every machine tests against the same. */
const PACKAGE = `github.com/versity/versitygw/cmd/${PROGRAM}@v1.8.0`;
const BUILD_TIMEOUT_MS = 15 * 60_000;
const run = promisify(execFile);

/** A server of S3 with its credentials, which the SDK's default chain finds under these names in the environment. */
export interface TestS3Server extends OwnServer {
  credentials: { AWS_ACCESS_KEY_ID: string; AWS_SECRET_ACCESS_KEY: string };
}

/**
 * A server of S3 of its own, built once by Go when it is not on the PATH; null, with a message on stderr, when none can
 * run.
 */
export async function startS3Server(): Promise<TestS3Server | null> {
  const command = await findS3Server();
  if (command === null) return null;
  const credentials = { AWS_ACCESS_KEY_ID: 'darkroom-test', AWS_SECRET_ACCESS_KEY: 'darkroom-test-secret' };
  const server = await startServer({
    command,
    args: (port, directory) => [
      ...['--quiet', '--port', `127.0.0.1:${port}`, '--health', '/health'],
      ...['posix', directory],
    ],
    env: {
      ROOT_ACCESS_KEY: credentials.AWS_ACCESS_KEY_ID,
      ROOT_SECRET_KEY: credentials.AWS_SECRET_ACCESS_KEY,
    },
    url: (port) => `http://127.0.0.1:${port}`,
    isReady: isHealthy,
  });
  return { ...server, credentials };
}

/** The path of the server's program, from the PATH or built; null, with a message on stderr, when there is none. */
export async function findS3Server(): Promise<string | null> {
  return (await findProgram(PROGRAM)) ?? (await build());
}

/**
 * A minute of one core at the lowest priority: the compiler optimises nothing, which is most of its work, writes
 * nothing for debuggers, and seldom collects its garbage.
 */
async function build(): Promise<string | null> {
  const go = await findProgram('go');
  if (go === null) return missing('Go builds it, and is not there.');
  const folder = await cachedFolder(PROGRAM, async (folder) => {
    console.error('Building a server for the tests of S3, once. This takes minutes.');
    const quickly = ['-gcflags=all=-N -l -dwarf=false', '-ldflags=-s -w'];
    const args = ['-n', '19', go, 'install', ...quickly, PACKAGE];
    const env = { ...process.env, GOBIN: folder, GOGC: '400', CGO_ENABLED: '0' };
    await run('nice', args, { timeout: BUILD_TIMEOUT_MS, env });
  }).catch((error) => missing(String(error)));
  return folder && join(folder, PROGRAM);
}

function missing(reason: string): null {
  console.error(`No server of S3 can run here, its tests are SKIPPED. ${reason}`);
  return null;
}

async function isHealthy(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/health`)).ok;
  } catch {
    return false;
  }
}
