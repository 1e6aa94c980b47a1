import type { Server as HttpServer } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** How long a client may continue to send unread data after its response was sent. */
const LINGER_MS = 5_000;
/**
 * How long a connection may be idle before it is closed. It is longer than a client needs between a response and its
 * next request.
 */
const QUIET_GRACE_MS = 1_000;
const POLL_MS = 20;

/**
 * Delays the closing of a connection after its response until the client closes it too, for a few seconds at most, and
 * drops what is still received. If it were closed with unread bytes, TCP would reset it, and a client that is still
 * sending would never see the response.
 */
export function closeAfterResponse(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end();
    const late = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once('close', () => clearTimeout(late));
    socket.once('end', () => socket.destroy());
    socket.resume();
  };
}

/**
 * Closes a server without failing a call. It stops listening at once. Existing connections are still served, and their
 * next response closes them (by a hook of the caller). Connections that stay idle for a second are closed: closing them
 * at once, as http.Server.close does, could cut off a request that is being sent. Resolves when no connection is left,
 * or after `timeoutMs`.
 */
export async function drainServer(server: HttpServer, timeoutMs: number): Promise<void> {
  const startedMs = performance.now();
  const countConnections = promisify(server.getConnections.bind(server));
  NetServer.prototype.close.call(server);
  for (;;) {
    const elapsedMs = performance.now() - startedMs;
    if (elapsedMs >= QUIET_GRACE_MS) server.closeIdleConnections();
    if (elapsedMs >= timeoutMs || (await countConnections()) === 0) return;
    await sleep(POLL_MS);
  }
}
