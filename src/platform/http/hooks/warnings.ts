import type { TSchema } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, RouteOptions } from 'fastify';
import { nearestName } from '../../ids/nearest.ts';

/** A warning for the caller of a call that succeeded. */
export interface CallWarning {
  code: string;
  /** Its subject: a variable, an asset, a scheme. */
  name?: string;
  /** The value of a parameter that was probably meant. */
  value?: string;
}

/** Of the header in all. */
const MAX_HEADER_CHARACTERS = 1_000;
/** Room for `,more:` and a number. */
const ROOM_FOR_MORE = 16;

/** The warnings of an answer so far. */
const added = new WeakMap<FastifyReply, readonly CallWarning[]>();

/** Adds warnings to an answer, in the header `X-Service-Warnings`. */
export function addWarnings(reply: FastifyReply, warnings: readonly CallWarning[]): void {
  if (warnings.length === 0) return;
  const all = [...(added.get(reply) ?? []), ...warnings];
  added.set(reply, all);
  reply.header('x-service-warnings', warningsText(all));
}

/**
 * Warnings as a comma-separated list of `code`, `code:name` or `code:name=value`, each once. Names and values are
 * percent-encoded. Entries beyond 1,000 characters are replaced by a last entry `more:<count>`.
 */
export function warningsText(warnings: readonly CallWarning[]): string {
  // There may be tens of thousands, of which few are written.
  const distinct = [...new Map(warnings.map((warning) => [keyOf(warning), warning])).values()];
  let text = '';
  for (const [index, warning] of distinct.entries()) {
    const next = `${text}${text === '' ? '' : ','}${entryOf(warning)}`;
    const isLast = index === distinct.length - 1;
    if (next.length > MAX_HEADER_CHARACTERS - (isLast ? 0 : ROOM_FOR_MORE)) {
      const more = `more:${distinct.length - index}`;
      return text === '' ? more : `${text},${more}`;
    }
    text = next;
  }
  return text;
}

function keyOf({ code, name, value }: CallWarning): string {
  return `${code}\n${name}\n${value}`;
}

function entryOf({ code, name, value }: CallWarning): string {
  if (name === undefined) return code;
  return `${code}:${unreserved(name)}${value === undefined ? '' : `=${unreserved(value)}`}`;
}

/** Escapes all but the unreserved characters of RFC 3986. */
function unreserved(name: string): string {
  return encodeURIComponent(name.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * The smallest and the largest value of a field with the schema keyword `clamped`. Values outside are replaced by the
 * nearer bound.
 */
export type ClampBounds = readonly [min: number, max: number];

export function clamp([min, max]: ClampBounds, value: number): number {
  return Math.min(Math.max(value, min), max);
}

/** Adds a warning `clamped:<name>` for each field whose value was replaced by a bound. */
export function installClampedFields(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const inQuery = clampedIn(route.schema?.querystring);
    const inBody = clampedIn(route.schema?.body);
    if (inQuery.length + inBody.length === 0) return;
    route.onSend = [
      ...[route.onSend ?? []].flat(),
      ({ query, body }, reply, _payload, done) => {
        addWarnings(reply, [...warningsAbout(query, inQuery), ...warningsAbout(body, inBody)]);
        done();
      },
    ];
  });
}

type ClampedField = [name: string, bounds: ClampBounds];

function clampedIn(schema: unknown): ClampedField[] {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, TSchema> };
  return Object.entries(properties).flatMap(([name, { clamped }]): ClampedField[] =>
    clamped === undefined ? [] : [[name, clamped as ClampBounds]],
  );
}

function warningsAbout(sent: unknown, fields: readonly ClampedField[]): CallWarning[] {
  if (typeof sent !== 'object' || sent === null) return [];
  return fields.flatMap(([name, bounds]) => {
    const value = (sent as Record<string, unknown>)[name];
    if (typeof value !== 'number' || clamp(bounds, value) === value) return [];
    return [{ code: 'clamped', name }];
  });
}

/** Refusals already name what is wrong. */
const FIRST_FAILURE_STATUS = 400;

/**
 * Adds a warning for each field that the route does not read: `ignored_parameter:<name>` in `X-Service-Warnings` of a
 * successful response, followed by `did_you_mean:<name>` if a field of the route has a similar name. Routes that check
 * their query themselves refuse such fields. Fields of a response are accepted in a body without a warning, because
 * clients send responses back.
 */
export function installIgnoredFields(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const inQuery = route.validatorCompiler === undefined ? fieldNamesOf(route.schema?.querystring) : null;
    const inBody = namesReadInBody(route);
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

/** The most ignored names for which similar ones are looked for, more than the header has room for. */
const MAX_MEANT_NAMES = 60;

function unread(sent: unknown, known: ReadonlySet<string> | null): CallWarning[] {
  if (known === null || typeof sent !== 'object' || sent === null || Array.isArray(sent)) return [];
  return Object.keys(sent)
    .filter((name) => !known.has(name))
    .flatMap((name, index) => {
      const meant = index < MAX_MEANT_NAMES ? nearestName(name, [...known]) : undefined;
      const ignored = { code: 'ignored_parameter', name };
      return meant === undefined ? [ignored] : [ignored, { code: 'did_you_mean', name: meant }];
    });
}

/** The fields of a body and of the responses to it; null when only the schema decides. */
export function namesReadInBody({ schema }: RouteOptions): ReadonlySet<string> | null {
  const body = schema?.body as { properties?: object; additionalProperties?: unknown } | undefined;
  if (body?.properties === undefined || body.additionalProperties !== undefined) return null;
  const answers = Object.values((schema?.response ?? {}) as Record<string, { properties?: Data }>);
  const data = answers.flatMap(({ properties }) => [...fieldNamesOf(properties?.data)]);
  return new Set([...fieldNamesOf(body), ...data]);
}

interface Data {
  data?: unknown;
}

/** The names of the fields that the schema of a query or a body has. */
export function fieldNamesOf(schema: unknown): ReadonlySet<string> {
  return new Set(Object.keys((schema as { properties?: object } | undefined)?.properties ?? {}));
}
