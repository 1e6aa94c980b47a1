import { createSocket } from 'node:dgram';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { type Picture, swatch } from './test-renderer.ts';

/**
 * The target of attacks: a server that answers every request with magenta, and listeners that count connections.
 * No test page has this colour, so that one pixel of it proves an escape.
 */
export interface Canary {
  port: number;
  /** Address on the canary of a file such as `picture.png`. */
  url(name: string): string;
  /** A magenta picture on this machine's disk. */
  fileUrl: string;
  /** One line for each connection and datagram. */
  hits: string[];
}

const MAGENTA_SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100"><g id="shape"><rect width="200" height="100" fill="#f0f"/></g></svg>';

const TEXTS: Record<string, [string, string]> = {
  css: ['text/css', 'html{background:#f0f}'],
  html: ['text/html', '<body style="background:#f0f">'],
  svg: ['image/svg+xml', MAGENTA_SVG],
  js: ['text/javascript', 'document.documentElement.style.background = "#f0f"'],
};

export async function openCanary(t: Test): Promise<Canary> {
  const hits: string[] = [];
  const png = await swatch('#ff00ff', 200);
  const server = createServer((request, response) => {
    hits.push(`http ${request.method} ${request.url}`);
    const [contentType, body] = TEXTS[request.url?.split('.').at(-1) ?? ''] ?? ['image/png', png];
    response.writeHead(200, { 'Content-Type': contentType, 'Access-Control-Allow-Origin': '*' }).end(body);
  });
  server.on('connection', () => hits.push('tcp'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  const udp = createSocket('udp4', (message) => hits.push(`udp ${message.length} bytes`));
  await new Promise<void>((resolve) => udp.bind(port, '127.0.0.1', resolve));

  const directory = await mkdtemp(join(tmpdir(), 'darkroom-canary-'));
  const file = join(directory, 'picture.png');
  await writeFile(file, png);

  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
    udp.close();
    await rm(directory, { recursive: true });
  });
  return { port, hits, url: (name) => `http://127.0.0.1:${port}/${name}`, fileUrl: `file://${file}` };
}

export function isMagenta(picture: Picture): boolean {
  return picture.some(([r, g, b]) => r > 200 && g < 60 && b > 200);
}

/** A name server on the loopback, or undefined if nobody may bind port 53. It counts who asks and never answers. */
export async function openNameServer(t: Test, hits: string[]): Promise<string | undefined> {
  const address = '127.53.53.53';
  const server = createSocket('udp4', (message) =>
    hits.push(`dns ${message.toString('latin1').slice(12, 60)}`),
  );
  const bound = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.bind(53, address, () => resolve(true));
  });
  t.teardown(() => server.close());
  return bound ? address : undefined;
}
