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

/** Declares a change that keeps the fields that are not sent: PUT, and PATCH as another name of the same call. */
export function declareChange<R extends RouteGenericInterface>(
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
