import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { isJsonObject } from '../../values/json.ts';
import { type ApiError, invalidParamError } from '../errors/errors.ts';
import { movedTo } from '../errors/mends.ts';
import { fieldNamesOf, namesReadInBody } from './warnings.ts';

/**
 * Refuses a field of the query that the body of the same call has, and the other way around: it would do nothing where
 * it is, though its name is right. Routes that read their body themselves ask `misplacedIn`.
 */
export function installMisplacedFields(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const inQuery = fieldNamesOf(route.schema?.querystring);
    const inBody = fieldNamesOf(route.schema?.body);
    if (inBody.size === 0) return;
    const ofBody = [...inBody].filter((name) => !inQuery.has(name));
    const read = namesReadInBody(route) ?? inBody;
    const ofQuery = [...inQuery].filter((name) => !read.has(name));
    route.preValidation = [
      ...[route.preValidation ?? []].flat(),
      ({ url, query, body }, _reply, done) => {
        const refusal = url.includes('?') ? misplacedIn(query, ofBody, 'body') : undefined;
        done(refusal ?? misplacedIn(body, ofQuery, 'query'));
      },
    ];
  });
}

/**
 * The refusal of sent fields that another part of their call has, with the mend that moves them; undefined without any.
 * @param names of the fields that this part has not.
 */
export function misplacedIn(
  sent: unknown,
  names: readonly string[],
  belongsTo: 'query' | 'body',
): ApiError | undefined {
  if (!isJsonObject(sent) || sent instanceof Readable) return undefined;
  const found = names.filter((name) => sent[name] !== undefined);
  const [name] = found;
  if (name === undefined) return undefined;
  const where =
    belongsTo === 'body'
      ? `a field of the body of this call, and is not read in the query: send it there`
      : `a field of the query of this call, and is not read in the body: send it there, as ?${name}=${shown(sent[name])}`;
  const mends = found.flatMap((one) => movedTo(belongsTo, one, sent[one]));
  return invalidParamError(name, `${name} is ${where}.`, undefined, mends);
}

const MAX_SHOWN_CHARACTERS = 20;

/** A value as a query has it, if it is short. */
function shown(value: unknown): string {
  const text = typeof value === 'object' ? '' : String(value);
  return text.length === 0 || text.length > MAX_SHOWN_CHARACTERS ? '…' : text;
}
