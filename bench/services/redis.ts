import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { findProgram, type OwnServer, startServer, type TestServer } from './server.ts';

const run = promisify(execFile);
const INSTALL_TIMEOUT_MS = 120_000;

/**
 * The Redis of REDIS_URL, which others may be using, else a separate one. Null, with a message on stderr, when none can
 * run. If CI is true, that is an error instead, because CI skips nothing.
 */
export async function startRedis(): Promise<TestServer | null> {
  const url = process.env.REDIS_URL;
  return url ? { url, stop: async () => {} } : startPrivateRedis();
}

/**
 * A Redis that nobody else uses, so that it can be flushed and killed; null or an error as for `startRedis`.
 * @param keeps whether its data survives a restart.
 */
export async function startPrivateRedis(keeps = false): Promise<OwnServer | null> {
  const command = (await findProgram('redis-server')) ?? (await install());
  if (command === null) return reportMissing();
  return startServer({
    command,
    args: (port, directory) => [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--dir',
      directory,
      '--save',
      '',
      '--appendonly',
      keeps ? 'yes' : 'no',
    ],
    url: (port) => `redis://127.0.0.1:${port}`,
    isReady: answersPing,
  });
}

async function install(): Promise<string | null> {
  const apt = await findProgram('apt-get');
  if (apt === null || process.getuid?.() !== 0) return null;
  const options = { timeout: INSTALL_TIMEOUT_MS, env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
  try {
    await run(apt, ['update'], options);
    await run(apt, ['install', '-y', '--no-install-recommends', 'redis-server'], options);
  } catch (error) {
    console.error(`Redis could not be installed: ${error instanceof Error ? error.message : error}`);
  }
  return findProgram('redis-server');
}

function reportMissing(): null {
  const sentence = 'No Redis can run here, its tests are SKIPPED. Install redis-server.';
  if (process.env.CI === 'true') throw new Error(sentence);
  console.error(sentence);
  return null;
}

function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    const finish = (ready: boolean) => {
      socket.destroy();
      resolve(ready);
    };
    socket.once('data', (answer) => finish(answer.toString().startsWith('+PONG')));
    socket.once('error', () => finish(false));
  });
}
