import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { Test } from 'tap';
import type { ResolvedAddress } from '../../../src/platform/outbound/target.ts';

/** An HTTP server on loopback that ends with the test. Answers its base address and how often it was connected to. */
export async function serve(t: Test, handler: RequestListener, host = '127.0.0.1', port = 0) {
  return listen(t, createServer(handler), host, port);
}

/** A TCP server on loopback: what the peer does with a connection is the test's. */
export async function serveTcp(t: Test, handler: (socket: Socket) => void, host = '127.0.0.1', port = 0) {
  return listen(t, createTcpServer(handler), host, port);
}

export async function listen(t: Test, server: Server, host = '127.0.0.1', port = 0) {
  const sockets = new Set<Socket>();
  const seen = { connections: 0 };
  server.on('connection', (socket) => {
    seen.connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  server.listen(port, host);
  await once(server, 'listening');
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  const bound = (server.address() as AddressInfo).port;
  return { url: `http://${host}:${bound}`, port: bound, seen };
}

/** A resolver that answers the same addresses to every name. */
export function always(...addresses: string[]) {
  return async (): Promise<ResolvedAddress[]> =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
}

/** The words of a paragraph, as a list. */
export function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
