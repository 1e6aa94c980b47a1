import type { FastifyReply } from 'fastify';
import { type ApiError, invalidParam } from './errors.ts';

/** Aborts when the client goes away before its answer. */
export function clientGoneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort(clientGone());
  });
  return gone.signal;
}

function clientGone(): ApiError {
  return invalidParam('body', 'The client closed the connection before its answer.');
}
