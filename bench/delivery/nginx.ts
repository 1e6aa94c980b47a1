import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const STARTS_WITHIN_MS = 5_000;
const POLL_MS = 50;

export interface Nginx extends AsyncDisposable {
  url: string;
  pid: number;
}

/** nginx with one worker that serves a picture from a file; null where the machine has none. */
export async function startNginx(picture: Buffer, type: string): Promise<Nginx | null> {
  if (spawnSync('nginx', ['-v']).error !== undefined) return null;
  const folder = await mkdtemp(join(tmpdir(), 'bench-nginx-'));
  // The worker of nginx gives up root's rights, so everybody must be allowed to read the folder.
  await chmod(folder, 0o755);
  const port = await freePort();
  await writeFile(join(folder, 'picture'), picture);
  await writeFile(join(folder, 'nginx.conf'), configuration(folder, port, type));
  const child = spawn('nginx', ['-c', join(folder, 'nginx.conf'), '-p', folder], { stdio: 'inherit' });
  const url = `http://127.0.0.1:${port}`;
  const stop = async () => {
    await end(child);
    await rm(folder, { recursive: true, force: true });
  };
  for (let waitedMs = 0; waitedMs < STARTS_WITHIN_MS; waitedMs += POLL_MS) {
    if (
      await fetch(`${url}/picture`).then(
        (answer) => answer.ok,
        () => false,
      )
    )
      return { url, pid: child.pid ?? 0, [Symbol.asyncDispose]: stop };
    await sleep(POLL_MS);
  }
  await stop();
  throw new Error('nginx did not start.');
}

function configuration(folder: string, port: number, type: string): string {
  return `daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 256; }
http {
  access_log off;
  sendfile on;
  keepalive_requests 100000000;
  open_file_cache max=100;
  default_type ${type};
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  server {
    listen 127.0.0.1:${port};
    root ${folder};
  }
}
`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}
