import { Readable } from 'node:stream';
import type { TSchema } from '@sinclair/typebox';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { nearestName } from '../../ids/nearest.ts';
import { isJsonObject } from '../../values/json.ts';
import { misplacedFieldCorrections } from '../errors/corrections.ts';
import { type ApiError, invalidParamError } from '../errors/errors.ts';
import { DRY_RUN_QUERY_NAMES } from '../fields.ts';
import { addWarnings, type CallWarning, type ClampBounds, clamp } from './warnings.ts';

const [DRY_RUN_FIELD] = DRY_RUN_QUERY_NAMES;

/**
 * Refuses a field that was sent in the query but belongs in the body of the same call, and the other way around. It
 * would have no effect there although its name is right. Routes that read their body themselves call
 * `misplacedFieldsRefusal`.
 */
export function installMisplacedFields(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const inQuery = fieldNamesOf(route.schema?.querystring);
    const inBody = fieldNamesOf(route.schema?.body);
    if (inBody.size === 0) return;
    const onlyInBody = [...inBody].filter((name) => !inQuery.has(name));
    const readInBody = bodyAndDataFieldNamesOf(route) ?? inBody;
    const onlyInQuery = [...inQuery].filter((name) => !readInBody.has(name));
    route.preValidation = [
      ...[route.preValidation ?? []].flat(),
      ({ url, query, body }, _reply, done) => {
        const refusal = url.includes('?') ? misplacedFieldsRefusal(query, onlyInBody, 'body') : undefined;
        done(refusal ?? misplacedFieldsRefusal(body, onlyInQuery, 'query'));
      },
    ];
  });
}

/**
 * Refuses an unknown query field whose name is nearly `dryRun`. Otherwise the call would do, and charge for, what the
 * caller only wanted to check.
 */
export function refuseMisspeltDryRuns(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const read = fieldNamesOf(route.schema?.querystring);
    if (!read.has(DRY_RUN_FIELD)) return;
    const isMisspelt = (name: string) => !read.has(name) && nearestName(name, [...read]) === DRY_RUN_FIELD;
    route.preValidation = [
      ...[route.preValidation ?? []].flat(),
      ({ query }, _reply, done) => {
        const sent = query as Record<string, unknown>;
        const name = sent[DRY_RUN_FIELD] === undefined ? Object.keys(sent).find(isMisspelt) : undefined;
        if (name === undefined) return done();
        const message = `${name} is not read, so this would be no dry run: did you mean ${DRY_RUN_FIELD}?`;
        done(invalidParamError(name, message, undefined, [{ param: name, rename: DRY_RUN_FIELD }]));
      },
    ];
  });
}

/**
 * The refusal of fields that were sent in the wrong part of the call, with the corrections that move them. Undefined if
 * no field is misplaced.
 * @param names the names of the fields that belong in the other part.
 */
export function misplacedFieldsRefusal(
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
      : `a field of the query of this call, and is not read in the body: send it there, as ?${name}=${queryTextOf(sent[name])}`;
  const corrections = found.flatMap((one) => misplacedFieldCorrections(belongsTo, one, sent[one]));
  return invalidParamError(name, `${name} is ${where}.`, undefined, corrections);
}

const MAX_QUERY_TEXT_CHARACTERS = 20;

/** A value as a query has it, or `…` for a long one. */
function queryTextOf(value: unknown): string {
  const text = typeof value === 'object' ? '' : String(value);
  return text.length === 0 || text.length > MAX_QUERY_TEXT_CHARACTERS ? '…' : text;
}

/** The lowest status of a refusal. Refusals get no warnings, because they already say what is wrong. */
const MIN_FAILURE_STATUS = 400;

/**
 * Adds warnings about sent fields to `X-Service-Warnings`.
 *
 * `ignored_parameter:<name>` names a field that the route does not read, followed by `did_you_mean:<name>` if a field
 * of the route has a similar name. Only successful responses have it. Routes that check their query themselves refuse
 * such fields. Fields of a response are accepted in a body without a warning, because clients change what they have
 * read and send it back.
 *
 * `clamped:<name>` names a field whose value was replaced by a bound.
 */
export function installFieldWarnings(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const { schema = {} } = route;
    const readInQuery = route.validatorCompiler === undefined ? fieldNamesOf(schema.querystring) : null;
    const readInBody = bodyAndDataFieldNamesOf(route);
    const [clampedInQuery, clampedInBody] = [
      clampedFieldsOf(schema.querystring),
      clampedFieldsOf(schema.body),
    ];
    if (readInQuery === null && readInBody === null && clampedInQuery.length + clampedInBody.length === 0)
      return;
    route.onSend = [
      ...[route.onSend ?? []].flat(),
      ({ url, query, body }, reply, _payload, done) => {
        const ignored =
          reply.statusCode < MIN_FAILURE_STATUS
            ? [
                ...(url.includes('?') ? ignoredFieldWarnings(query, readInQuery) : []),
                ...ignoredFieldWarnings(body, readInBody),
              ]
            : [];
        const warnings = [
          ...ignored,
          ...clampedWarnings(query, clampedInQuery),
          ...clampedWarnings(body, clampedInBody),
        ];
        addWarnings(reply, warnings);
        done();
      },
    ];
  });
}

type ClampedField = [name: string, bounds: ClampBounds];

function clampedFieldsOf(schema: unknown): ClampedField[] {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, TSchema> };
  return Object.entries(properties).flatMap(([name, { clamped }]): ClampedField[] =>
    clamped === undefined ? [] : [[name, clamped as ClampBounds]],
  );
}

function clampedWarnings(sent: unknown, fields: readonly ClampedField[]): CallWarning[] {
  if (typeof sent !== 'object' || sent === null) return [];
  return fields.flatMap(([name, bounds]) => {
    const value = (sent as Record<string, unknown>)[name];
    if (typeof value !== 'number' || clamp(bounds, value) === value) return [];
    return [{ code: 'clamped', name }];
  });
}

/** The most ignored names for which similar names are sought. The header has room for fewer. */
const MAX_CORRECTED_NAMES = 60;

function ignoredFieldWarnings(sent: unknown, known: ReadonlySet<string> | null): CallWarning[] {
  if (known === null || typeof sent !== 'object' || sent === null || Array.isArray(sent)) return [];
  return Object.keys(sent)
    .filter((name) => !known.has(name))
    .flatMap((name, index): CallWarning[] => {
      const meant = index < MAX_CORRECTED_NAMES ? nearestName(name, [...known]) : undefined;
      const ignored = { code: 'ignored_parameter', name } as const;
      return meant === undefined ? [ignored] : [ignored, { code: 'did_you_mean', name: meant }];
    });
}

/**
 * The names of the fields of a body and of its responses. Null if the schema of the body itself decides about other
 * fields.
 */
function bodyAndDataFieldNamesOf({ schema }: RouteOptions): ReadonlySet<string> | null {
  const body = schema?.body as { properties?: object; additionalProperties?: unknown } | undefined;
  if (body?.properties === undefined || body.additionalProperties !== undefined) return null;
  const answers = Object.values(
    (schema?.response ?? {}) as Record<string, { properties?: { data?: unknown } }>,
  );
  const data = answers.flatMap(({ properties }) => [...fieldNamesOf(properties?.data)]);
  return new Set([...fieldNamesOf(body), ...data]);
}

export function fieldNamesOf(schema: unknown): ReadonlySet<string> {
  return new Set(Object.keys((schema as { properties?: object } | undefined)?.properties ?? {}));
}
