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
  // After the gate has asked who calls.
  app.addHook('preParsing', async (request) => {
    const { accept } = request.headers;
    const { answers } = request.routeOptions.config;
    if (!accept || accepts(accept, 'application/json')) return;
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

/**
 * Whether an Accept header takes a media type (either may hold wildcards). The range that names the type most closely
 * decides, and one of q=0 takes nothing.
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1
 */
export function accepts(header: string, type: string): boolean {
  const [wantedMain = '', wantedSub = ''] = type.split('/');
  const matches = header.split(',').flatMap((range) => {
    const [name = '', ...parameters] = range.trim().toLowerCase().split(';');
    const [main = '', sub = ''] = name.trim().split('/');
    const matchesMain = main === '*' || wantedMain === '*' || main === wantedMain;
    const matchesSub = sub === '*' || wantedSub === '*' || sub === wantedSub || main === '*';
    if (!matchesMain || !matchesSub) return [];
    const closeness = Number(main === wantedMain) + Number(sub === wantedSub);
    return [{ closeness, takes: !parameters.some((parameter) => /^\s*q=0(\.0*)?\s*$/.test(parameter)) }];
  });
  const closest = Math.max(...matches.map(({ closeness }) => closeness));
  return matches.some(({ closeness, takes }) => closeness === closest && takes);
}
