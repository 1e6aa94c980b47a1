import type { FastifyInstance } from 'fastify';
import { ApiError } from './errors.ts';

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
  app.addHook('onRequest', async (request) => {
    const { accept } = request.headers;
    const { answers } = request.routeOptions.config;
    if (accept === undefined || accepts(accept, 'application/json')) return;
    if (answers !== undefined && accepts(accept, answers)) return;
    const made = answers === undefined ? 'JSON' : `JSON and ${answers}`;
    throw new ApiError(
      'not_acceptable',
      `Nothing satisfies "Accept: ${accept}": ${made} is what this endpoint answers.`,
      {
        details: { supported: ['application/json', ...(answers === undefined ? [] : [answers])] },
      },
    );
  });
}

/** Whether an Accept header takes a media type (either may hold wildcards). Ranges of q=0 take nothing. */
export function accepts(header: string, type: string): boolean {
  const [wantedMain, wantedSub] = type.split('/');
  return header.split(',').some((range) => {
    const [name = '', ...parameters] = range.trim().toLowerCase().split(';');
    if (parameters.some((parameter) => /^\s*q=0(\.0*)?\s*$/.test(parameter))) return false;
    const [main, sub] = name.trim().split('/');
    if (main === '*' || wantedMain === '*') return true;
    return main === wantedMain && (sub === '*' || wantedSub === '*' || sub === wantedSub);
  });
}
