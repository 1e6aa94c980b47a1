import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Clock } from '../../clock.ts';
import { closeAfterAnswer } from './lingering.ts';

/** A request to release connections expires after this time, because the load may have changed. */
const VALID_MS = 2_000;

interface ReleasingOptions {
  /** Whether a call keeps the process busy. Calls that only wait or stream are neither counted nor closed. */
  isWork: (request: FastifyRequest) => boolean;
  /** Called when a connection is closed so that its client connects to another process. */
  onReleased: () => void;
  clock: Clock;
}

/** Connections whose clients may be sent to another process. */
export interface ReleasableConnections {
  /** The mean number of concurrent calls since the last call of this function. */
  load(): number;
  /** Sends `Connection: close` with this number of the next responses. Replaces an earlier request. */
  release(connections: number): void;
}

/**
 * Counts concurrent calls, and releases connections with their responses: a client that receives `Connection: close`
 * sends its next call over a new connection, which any process may accept. No call fails by it.
 */
export function installReleasing(
  server: FastifyInstance,
  { isWork, onReleased, clock }: ReleasingOptions,
): ReleasableConnections {
  let concurrent = 0;
  let callMs = 0;
  let countedMs = clock.elapsedMs();
  let measuredMs = countedMs;
  let remaining = 0;
  let validUntilMs = countedMs;

  function count(change: number): void {
    const nowMs = clock.elapsedMs();
    callMs += concurrent * (nowMs - countedMs);
    countedMs = nowMs;
    concurrent += change;
  }

  server.addHook('onRequest', (request, reply, done) => {
    if (isWork(request)) {
      count(1);
      // This event occurs once, even if the client disconnects before its response.
      reply.raw.once('close', () => count(-1));
    }
    done();
  });

  server.addHook('onSend', (request, reply, _payload, done) => {
    if (
      remaining > 0 &&
      isWork(request) &&
      !reply.hasHeader('connection') &&
      clock.elapsedMs() < validUntilMs
    ) {
      remaining -= 1;
      reply.header('connection', 'close');
      if (!request.raw.complete) closeAfterAnswer(request.socket);
      onReleased();
    }
    done();
  });

  return {
    load() {
      count(0);
      const passedMs = countedMs - measuredMs;
      const mean = passedMs > 0 ? callMs / passedMs : concurrent;
      callMs = 0;
      measuredMs = countedMs;
      return mean;
    },
    release(connections) {
      remaining = connections;
      validUntilMs = clock.elapsedMs() + VALID_MS;
    },
  };
}
