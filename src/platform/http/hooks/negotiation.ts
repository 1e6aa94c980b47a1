import type { FastifyContextConfig, FastifyInstance } from 'fastify';
import Negotiator from 'negotiator';
import { ApiError } from '../errors/errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Media type that the endpoint answers besides JSON, such as `image/*`. */
    responseType?: string;
  }
}

/**
 * Refuses a call whose Accept header allows neither JSON nor the media type of the endpoint.
 * @throws ApiError 406 not_acceptable
 */
export function installNegotiation(app: FastifyInstance): void {
  // This runs after authentication.
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const { accept } = request.headers;
    if (accept !== undefined && !ALWAYS_ACCEPTED.has(accept))
      refuseUnacceptable(accept, request.routeOptions.config);
    done();
  });
}

/** The Accept headers of most programs. */
const ALWAYS_ACCEPTED = new Set(['', '*/*', 'application/json']);

function refuseUnacceptable(accept: string, { responseType }: FastifyContextConfig): void {
  if (responseType === '*/*' || accepts(accept, responseType)) return;
  const supported = responseType === undefined ? 'JSON' : `JSON and ${responseType}`;
  throw new ApiError(
    'not_acceptable',
    `This endpoint cannot satisfy "Accept: ${accept}": it answers ${supported}.`,
    {
      param: 'Accept',
      details: { supported: ['application/json', ...(responseType === undefined ? [] : [responseType])] },
    },
  );
}

/** The types of the wildcards of `answers`. */
const TYPES: Record<string, string[]> = {
  'image/*': ['image/jpeg', 'image/png', 'image/webp', 'image/gif', 'image/avif', 'image/tiff'],
  'text/*': ['text/plain'],
};

/** Whether an Accept header allows one of the types of an endpoint. */
function accepts(header: string, answers: string | undefined): boolean {
  const types = ['application/json', ...(answers === undefined ? [] : (TYPES[answers] ?? [answers]))];
  return new Negotiator({ headers: { accept: header } }).mediaTypes(types).length > 0;
}
