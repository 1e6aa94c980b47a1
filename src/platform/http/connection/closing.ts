import type { Server as HttpServer } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Clock } from '../../clock.ts';

/** The time after which a request to release connections expires, because the load may have changed. */
const RELEASE_REQUEST_TTL_MS = 2_000;

interface ReleasableConnectionsOptions {
  /** Whether a request keeps the process busy. Calls that only wait or stream are neither counted nor closed. */
  isWork: (request: FastifyRequest) => boolean;
  /** Called when a connection is closed so that its client connects to another process. */
  onReleased: () => void;
  clock: Clock;
}

/**
 * Counts concurrent calls, and releases connections: a client that receives a response with `Connection: close` sends
 * its next call over a new connection, which any process may accept. No call fails because of this.
 */
export class ReleasableConnections {
  readonly #clock: Clock;
  #concurrent = 0;
  #callMs = 0;
  #countedMs: number;
  #measuredMs: number;
  #remainingReleases = 0;
  #validUntilMs: number;

  constructor(server: FastifyInstance, options: ReleasableConnectionsOptions) {
    this.#clock = options.clock;
    this.#countedMs = options.clock.elapsedMs();
    this.#measuredMs = this.#countedMs;
    this.#validUntilMs = this.#countedMs;
    server.addHook('onRequest', (request, reply, done) => {
      if (options.isWork(request)) {
        this.#changeConcurrency(1);
        // `close` occurs once, even if the client disconnects before its response.
        reply.raw.once('close', () => this.#changeConcurrency(-1));
      }
      done();
    });
    server.addHook('onSend', (request, reply, _payload, done) => {
      if (
        this.#remainingReleases > 0 &&
        options.isWork(request) &&
        !reply.hasHeader('connection') &&
        options.clock.elapsedMs() < this.#validUntilMs
      ) {
        this.#remainingReleases -= 1;
        reply.header('connection', 'close');
        if (!request.raw.complete) closeAfterResponse(request.socket);
        options.onReleased();
      }
      done();
    });
  }

  /** The mean number of concurrent calls since this method was last called. */
  measureLoad(): number {
    this.#changeConcurrency(0);
    const passedMs = this.#countedMs - this.#measuredMs;
    const mean = passedMs > 0 ? this.#callMs / passedMs : this.#concurrent;
    this.#callMs = 0;
    this.#measuredMs = this.#countedMs;
    return mean;
  }

  /** Sends `Connection: close` with this number of the next responses. It replaces the number of an earlier call. */
  releaseConnections(connections: number): void {
    this.#remainingReleases = connections;
    this.#validUntilMs = this.#clock.elapsedMs() + RELEASE_REQUEST_TTL_MS;
  }

  #changeConcurrency(change: number): void {
    const nowMs = this.#clock.elapsedMs();
    this.#callMs += this.#concurrent * (nowMs - this.#countedMs);
    this.#countedMs = nowMs;
    this.#concurrent += change;
  }
}

/** How long a client may continue to send unread data after its response was sent. */
const MAX_LINGER_MS = 5_000;
/**
 * How long a connection may be idle before it is closed. It is longer than a client needs between a response and its
 * next request.
 */
const IDLE_GRACE_MS = 1_000;
const DRAIN_POLL_MS = 20;

/**
 * Delays the closing of a connection after its response until the client closes it too, for a few seconds at most, and
 * drops what is still received. If it were closed with unread bytes, TCP would reset it, and a client that is still
 * sending would never see the response.
 */
export function closeAfterResponse(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end();
    const lingerTimer = setTimeout(() => socket.destroy(), MAX_LINGER_MS).unref();
    socket.once('close', () => clearTimeout(lingerTimer));
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
    if (elapsedMs >= IDLE_GRACE_MS) server.closeIdleConnections();
    if (elapsedMs >= timeoutMs || (await countConnections()) === 0) return;
    await sleep(DRAIN_POLL_MS);
  }
}
