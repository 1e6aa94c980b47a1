import type { FastifyInstance, RouteOptions } from 'fastify';
import { nearest } from '../../ids/nearest.ts';
import { invalidParam } from '../errors/errors.ts';
import { addWarnings, type Warning } from './warnings.ts';

/** Refusals already name what is wrong. */
const FIRST_FAILURE_STATUS = 400;

/**
 * Names the fields that the route does not read, as `ignored_parameter:<name>` in `X-Service-Warnings` of a successful
 * response, followed by `did_you_mean:<name>` if a field of the route has a similar name. Routes that check their query
 * themselves refuse such fields. Fields of a response are accepted in a body without a warning, because clients send
 * responses back.
 */
export function installIgnoredFields(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const inQuery = route.validatorCompiler === undefined ? namesOf(route.schema?.querystring) : null;
    const inBody = namesInBody(route);
    refuseMisplaced(route);
    if (inQuery === null && inBody === null) return;
    route.onSend = [
      ...[route.onSend ?? []].flat(),
      ({ url, query, body }, reply, _payload, done) => {
        if (reply.statusCode < FIRST_FAILURE_STATUS) {
          addWarnings(reply, [...(url.includes('?') ? unread(query, inQuery) : []), ...unread(body, inBody)]);
        }
        done();
      },
    ];
  });
}

/** Refuses a query field that the body of the same call has: it would do nothing, though its name is right. */
function refuseMisplaced(route: RouteOptions): void {
  const inQuery = namesOf(route.schema?.querystring);
  const misplaced = [...namesOf(route.schema?.body)].filter((name) => !inQuery.has(name));
  if (misplaced.length === 0) return;
  route.preValidation = [
    ...[route.preValidation ?? []].flat(),
    ({ url, query }, _reply, done) => {
      const sent = query as Record<string, unknown>;
      const name = url.includes('?') ? misplaced.find((one) => sent[one] !== undefined) : undefined;
      if (name === undefined) return done();
      const message = `${name} is a field of the body of this call, and is not read in the query: send it there.`;
      done(invalidParam(name, message));
    },
  ];
}

function unread(sent: unknown, known: ReadonlySet<string> | null): Warning[] {
  if (known === null || typeof sent !== 'object' || sent === null || Array.isArray(sent)) return [];
  return Object.keys(sent)
    .filter((name) => !known.has(name))
    .flatMap((name) => {
      const meant = nearest(name, [...known]);
      const ignored = { code: 'ignored_parameter', name };
      return meant === undefined ? [ignored] : [ignored, { code: 'did_you_mean', name: meant }];
    });
}

/** The fields of a body and of the responses to it; null when only the schema decides. */
function namesInBody({ schema }: RouteOptions): ReadonlySet<string> | null {
  const body = schema?.body as { properties?: object; additionalProperties?: unknown } | undefined;
  if (body?.properties === undefined || body.additionalProperties !== undefined) return null;
  const answers = Object.values((schema?.response ?? {}) as Record<string, { properties?: Data }>);
  const data = answers.flatMap(({ properties }) => [...namesOf(properties?.data)]);
  return new Set([...namesOf(body), ...data]);
}

interface Data {
  data?: unknown;
}

function namesOf(schema: unknown): ReadonlySet<string> {
  return new Set(Object.keys((schema as { properties?: object } | undefined)?.properties ?? {}));
}
