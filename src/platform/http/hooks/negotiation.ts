import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import { ApiError } from '../errors/errors.ts';
import type { CallWarning } from './warnings.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A media type that the endpoint returns besides JSON, such as `image/*`, or a list of such types. */
    responseType?: string | readonly string[];
    /**
     * Whether the Accept header of a call is ignored. It is for pictures that pages embed, because a page could not
     * show the error.
     */
    ignoresAccept?: true;
  }
}

/**
 * Refuses a call whose Accept header allows neither JSON nor the media type of the endpoint.
 * @throws ApiError 406 not_acceptable
 */
export function installNegotiation(app: FastifyInstance): void {
  // This hook comes after authentication, so that a wrong credential is reported first.
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const { accept } = request.headers;
    if (accept !== undefined && !JSON_ACCEPT_HEADERS.has(accept))
      refuseUnacceptable(accept, request.routeOptions.config);
    done();
  });
}

/** The Accept headers of most programs. They allow JSON, so they are not parsed. */
const JSON_ACCEPT_HEADERS = new Set(['', '*/*', 'application/json']);

function refuseUnacceptable(accept: string, { responseType, ignoresAccept }: FastifyContextConfig): void {
  if (ignoresAccept) return;
  const others = [responseType ?? []].flat();
  if (responseType === '*/*' || preferredType(accept, ['application/json', ...others]) !== undefined) return;
  const supported = ['JSON', ...others].join(' and ');
  throw new ApiError(
    'not_acceptable',
    `This endpoint cannot satisfy "Accept: ${accept}": it answers ${supported}.`,
    { param: 'Accept', details: { supported: ['application/json', ...others] } },
  );
}

/**
 * Warns that the Accept header does not allow the type of the response, although it allows another type of the
 * endpoint. The header does not choose the type: the parameters of the call do.
 */
export function acceptHeaderWarnings(request: FastifyRequest, contentType: string): CallWarning[] {
  const { accept = '' } = request.headers;
  if (JSON_ACCEPT_HEADERS.has(accept) || preferredType(accept, [contentType]) !== undefined) return [];
  // Fastify copies the options of a route at each access, so they are read only when they are needed.
  const acceptedType = preferredType(accept, [request.routeOptions.config.responseType ?? []].flat());
  if (acceptedType === undefined) return [];
  const ignored: CallWarning = { code: 'no_effect', name: 'Accept' };
  const [, format] = /^image\/(\w+)$/.exec(acceptedType) ?? [];
  const isOtherImage = format !== undefined && contentType.startsWith('image/');
  return isOtherImage ? [ignored, { code: 'did_you_mean', name: 'format', value: format }] : [ignored];
}

/** The media types that a wildcard in `responseType` includes. */
const WILDCARD_TYPES: Record<string, string[]> = {
  'image/*': ['image/jpeg', 'image/png', 'image/webp', 'image/gif', 'image/avif', 'image/tiff'],
  'text/*': ['text/plain'],
};

/** The first of the types that an Accept header prefers; undefined if it allows none of them. */
export function preferredType(accept: string, types: readonly string[]): string | undefined {
  const named = types.flatMap((type) => WILDCARD_TYPES[type] ?? [type]);
  return new Negotiator({ headers: { accept } }).mediaTypes(named)[0];
}
