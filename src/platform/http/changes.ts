import type {
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
  RouteGenericInterface,
  RouteHandlerMethod,
  RouteShorthandOptions,
} from 'fastify';

type Request = RawRequestDefaultExpression;
type Reply = RawReplyDefaultExpression;

/**
 * Declares the route of a change: PUT, and PATCH as another name of the same call. Fields that are not sent keep their
 * values.
 */
export function declareChangeRoute<R extends RouteGenericInterface>(
  app: FastifyInstance,
  url: string,
  options: RouteShorthandOptions<RawServerDefault, Request, Reply, R>,
  handler: RouteHandlerMethod<RawServerDefault, Request, Reply, R>,
): void {
  app.put<R>(url, options, handler);
  const { schema = {} } = options;
  app.patch<R>(
    url,
    { ...options, schema: { ...schema, summary: `${schema.summary}, as PUT does` } },
    handler,
  );
}
