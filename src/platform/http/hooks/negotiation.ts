import type { FastifyContextConfig, FastifyInstance } from 'fastify';
import Negotiator from 'negotiator';
import { ApiError } from '../errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Media type that the endpoint answers beside JSON, such as `image/*`. */
    answers?: string;
  }
}

/**
 * Refuses a call whose Accept takes neither JSON nor what the endpoint makes.
 * @throws ApiError 406 not_acceptable
 */
export function installNegotiation(app: FastifyInstance): void {
  // After the gate has asked who calls.
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const { accept } = request.headers;
    if (accept !== undefined && !ALWAYS_MET.has(accept)) refuseUnmet(accept, request.routeOptions.config);
    done();
  });
}

/** The Accept header of most programs. */
const ALWAYS_MET = new Set(['', '*/*', 'application/json']);

function refuseUnmet(accept: string, { answers }: FastifyContextConfig): void {
  if (answers === '*/*' || accepts(accept, answers)) return;
  const made = answers === undefined ? 'JSON' : `JSON and ${answers}`;
  throw new ApiError(
    'not_acceptable',
    `Nothing satisfies "Accept: ${accept}": ${made} is what this endpoint answers.`,
    {
      param: 'Accept',
      details: { supported: ['application/json', ...(answers === undefined ? [] : [answers])] },
    },
  );
}

/** Types behind the wildcards of `answers`. */
const MADE: Record<string, string[]> = {
  'image/*': ['image/jpeg', 'image/png', 'image/webp', 'image/gif', 'image/avif', 'image/tiff'],
  'text/*': ['text/plain'],
};

/** Whether an Accept header takes one of the types that an endpoint answers. */
function accepts(header: string, answers: string | undefined): boolean {
  const types = ['application/json', ...(answers === undefined ? [] : (MADE[answers] ?? [answers]))];
  return new Negotiator({ headers: { accept: header } }).mediaTypes(types).length > 0;
}
