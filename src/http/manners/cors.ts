import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** What a page of another origin may read of an answer. */
const EXPOSED = 'ETag, Content-Length, Content-Range, Content-Disposition, X-Request-Id';
const SENT = 'Content-Type, Range, If-None-Match, If-Range';
const DAY_SECONDS = 86_400;

type IsSigned = (request: FastifyRequest) => boolean;

/**
 * Opens signed links to pages of every origin, refusals included: a link carries its own right, and no credential comes
 * along. Nothing else of the service is open to them, because a key has no place in a page.
 * @param app whose routes are meant.
 * @param isSigned whether this very request is made by such a link.
 */
export function openToEveryOrigin(app: FastifyInstance, isSigned: IsSigned): void {
  app.addHook('onRequest', async (request, reply) => {
    if (isSigned(request)) allowEveryOrigin(reply);
  });
}

/** Answers what a browser asks before it sends what a form could not: PUT, or a header of its own. */
export function answerPreflight(
  app: FastifyInstance,
  path: string,
  { methods, isSigned }: { methods: readonly string[]; isSigned: IsSigned },
): void {
  const allow = methods.join(', ');
  app.options(
    path,
    { config: { access: 'public', ignoresCredential: () => true }, schema: { hide: true } },
    async (request, reply) => {
      if (isSigned(request)) {
        allowEveryOrigin(reply)
          .header('access-control-allow-methods', allow)
          .header('access-control-allow-headers', SENT)
          .header('access-control-max-age', String(DAY_SECONDS));
      }
      return reply.code(204).header('allow', allow).send();
    },
  );
}

function allowEveryOrigin(reply: FastifyReply): FastifyReply {
  return reply.header('access-control-allow-origin', '*').header('access-control-expose-headers', EXPOSED);
}
