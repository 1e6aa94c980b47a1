import type {
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
  RouteGenericInterface,
  RouteHandlerMethod,
  RouteShorthandOptions,
} from 'fastify';
import type { SweepTask } from '../periodic-tasks.ts';

/**
 * A slice (a product folder) in the form that app.ts needs. Its `openX` returns this together with functions for other
 * slices.
 */
export interface ProductSlice {
  /** Registers the routes. Their paths begin below /api/v1. */
  routes(app: FastifyInstance): Promise<void>;
  /** The periodic clean-ups of the slice, which remove expired data and data of dead processes. */
  sweeps?: readonly SweepTask[];
  /**
   * Ends the background work of the slice. It is called after the last call has ended, and before the threads end. The
   * signal `draining` aborts earlier, when the process stops taking calls.
   */
  stop?(): Promise<void>;
}

type RawRequest = RawRequestDefaultExpression;
type RawReply = RawReplyDefaultExpression;

/**
 * Declares the route of a change: PUT, and PATCH as another name of the same call. Fields that are not sent keep their
 * values.
 */
export function declareChangeRoute<R extends RouteGenericInterface>(
  app: FastifyInstance,
  url: string,
  options: RouteShorthandOptions<RawServerDefault, RawRequest, RawReply, R>,
  handler: RouteHandlerMethod<RawServerDefault, RawRequest, RawReply, R>,
): void {
  app.put<R>(url, options, handler);
  const { schema = {} } = options;
  app.patch<R>(
    url,
    { ...options, schema: { ...schema, summary: `${schema.summary}, as PUT does` } },
    handler,
  );
}
