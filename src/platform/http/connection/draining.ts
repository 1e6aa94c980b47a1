import type { Server as HttpServer } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Longer than a client takes from its connection, or from our last answer, to its next request. */
const QUIET_GRACE_MS = 1_000;
const POLL_MS = 20;

/**
 * Ends a server without failing a call that it accepted. It stops listening at once; connections that are there keep
 * being served, and their next answer says that they close (by the caller's hook). Those that stay quiet for a second
 * are closed then: closing them at once, as http.Server.close does, would cut a request that is on its way.
 * Resolves when no connection is left, or after `timeoutMs`.
 */
export async function drainServer(server: HttpServer, timeoutMs: number): Promise<void> {
  const startedMs = performance.now();
  NetServer.prototype.close.call(server);
  for (;;) {
    const elapsedMs = performance.now() - startedMs;
    if (elapsedMs >= QUIET_GRACE_MS) server.closeIdleConnections();
    if (elapsedMs >= timeoutMs || (await connectionsOf(server)) === 0) return;
    await sleep(POLL_MS);
  }
}

function connectionsOf(server: HttpServer): Promise<number> {
  return new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
}
