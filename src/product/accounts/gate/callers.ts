import type { FastifyRequest } from 'fastify';
import type { Caller } from '../authentication.ts';

/**
 * The caller is a property of its request. In a weak map each request would be an entry that the garbage collector has
 * to look through.
 */
const CALLER = Symbol('caller');
type Judged = FastifyRequest & { [CALLER]?: Caller };

/** Notes who makes a request. */
export function setCaller(request: Judged, caller: Caller): void {
  request[CALLER] = caller;
}

/** The caller of a request; null before the gate has found it, and where the request names none. */
export function callerIfAny(request: Judged): Caller | null {
  return request[CALLER] ?? null;
}
