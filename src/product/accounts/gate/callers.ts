import type { FastifyRequest } from 'fastify';
import type { Caller } from '../authentication.ts';

/**
 * The key of the caller on its request. With a weak map, the garbage collector would have to visit an entry per
 * request.
 */
const CALLER = Symbol('caller');
type RequestWithCaller = FastifyRequest & { [CALLER]?: Caller };

/** Sets the caller of a request. */
export function setCaller(request: RequestWithCaller, caller: Caller): void {
  request[CALLER] = caller;
}

/** The caller of a request; null before the gate has authenticated it, and for an anonymous request. */
export function callerIfAny(request: RequestWithCaller): Caller | null {
  return request[CALLER] ?? null;
}
