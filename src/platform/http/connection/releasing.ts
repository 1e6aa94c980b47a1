import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Clock } from '../../clock.ts';
import { closeAfterResponse } from './closing.ts';

/** A request to release connections expires after this time, because the load may have changed. */
const VALID_MS = 2_000;

interface ReleasingOptions {
  /** Whether a call keeps the process busy. Calls that only wait or stream are neither counted nor closed. */
  isWork: (request: FastifyRequest) => boolean;
  /** Called when a connection is closed so that its client connects to another process. */
  onReleased: () => void;
  clock: Clock;
}

/**
 * Counts concurrent calls, and releases connections with their responses: a client that receives `Connection: close`
 * sends its next call over a new connection, which any process may accept. No call fails by it.
 */
export class ReleasableConnections {
  readonly #clock: Clock;
  #concurrent = 0;
  #callMs = 0;
  #countedMs: number;
  #measuredMs: number;
  #remaining = 0;
  #validUntilMs: number;

  constructor(server: FastifyInstance, options: ReleasingOptions) {
    this.#clock = options.clock;
    this.#countedMs = options.clock.elapsedMs();
    this.#measuredMs = this.#countedMs;
    this.#validUntilMs = this.#countedMs;
    server.addHook('onRequest', (request, reply, done) => {
      if (options.isWork(request)) {
        this.#count(1);
        // This event occurs once, even if the client disconnects before its response.
        reply.raw.once('close', () => this.#count(-1));
      }
      done();
    });
    server.addHook('onSend', (request, reply, _payload, done) => {
      if (
        this.#remaining > 0 &&
        options.isWork(request) &&
        !reply.hasHeader('connection') &&
        options.clock.elapsedMs() < this.#validUntilMs
      ) {
        this.#remaining -= 1;
        reply.header('connection', 'close');
        if (!request.raw.complete) closeAfterResponse(request.socket);
        options.onReleased();
      }
      done();
    });
  }

  /** The mean number of concurrent calls since the last call of this function. */
  load(): number {
    this.#count(0);
    const passedMs = this.#countedMs - this.#measuredMs;
    const mean = passedMs > 0 ? this.#callMs / passedMs : this.#concurrent;
    this.#callMs = 0;
    this.#measuredMs = this.#countedMs;
    return mean;
  }

  /** Sends `Connection: close` with this number of the next responses. Replaces an earlier request. */
  release(connections: number): void {
    this.#remaining = connections;
    this.#validUntilMs = this.#clock.elapsedMs() + VALID_MS;
  }

  #count(change: number): void {
    const nowMs = this.#clock.elapsedMs();
    this.#callMs += this.#concurrent * (nowMs - this.#countedMs);
    this.#countedMs = nowMs;
    this.#concurrent += change;
  }
}
