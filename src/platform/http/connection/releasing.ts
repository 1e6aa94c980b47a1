import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Clock } from '../../clock/clock.ts';
import { closeAfterAnswer } from './lingering.ts';

/** A wish to release is forgotten after this time: by then the load may be another one. */
const VALID_MS = 2_000;

interface ReleasingOptions {
  /** Whether a call keeps the process busy. One that only waits, or that streams, is neither counted nor closed. */
  isWork: (request: FastifyRequest) => boolean;
  /** A connection is closed to have its client connect to another process. */
  onReleased: () => void;
  clock: Clock;
}

/** Connections whose clients may be sent to another process. */
export interface ReleasableConnections {
  /** The mean number of calls in hand since this was asked before. */
  load(): number;
  /** The next answers, this many, say `Connection: close`. Replaces the wish before it. */
  release(connections: number): void;
}

/**
 * Counts the calls in hand, and releases connections with their answers: a client that reads `Connection: close` sends
 * its next call over a new connection, which any process may take. No call fails by it.
 */
export function installReleasing(
  server: FastifyInstance,
  { isWork, onReleased, clock }: ReleasingOptions,
): ReleasableConnections {
  let inHand = 0;
  let callMs = 0;
  let countedMs = clock.elapsedMs();
  let askedMs = countedMs;
  let left = 0;
  let validUntilMs = countedMs;

  function count(change: number): void {
    const nowMs = clock.elapsedMs();
    callMs += inHand * (nowMs - countedMs);
    countedMs = nowMs;
    inHand += change;
  }

  server.addHook('onRequest', (request, reply, done) => {
    if (isWork(request)) {
      count(1);
      // Comes once, also where the client went away before its answer.
      reply.raw.once('close', () => count(-1));
    }
    done();
  });

  server.addHook('onSend', (request, reply, _payload, done) => {
    if (left > 0 && isWork(request) && !reply.hasHeader('connection') && clock.elapsedMs() < validUntilMs) {
      left -= 1;
      reply.header('connection', 'close');
      if (!request.raw.complete) closeAfterAnswer(request.socket);
      onReleased();
    }
    done();
  });

  return {
    load() {
      count(0);
      const passedMs = countedMs - askedMs;
      const mean = passedMs > 0 ? callMs / passedMs : inHand;
      callMs = 0;
      askedMs = countedMs;
      return mean;
    },
    release(connections) {
      left = connections;
      validUntilMs = clock.elapsedMs() + VALID_MS;
    },
  };
}
