import type { TSchema } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { addWarnings, type Warning } from './warnings.ts';

/** The least and the greatest value of a field whose schema has them as `clamped`: others are replaced by these. */
export type Clamped = readonly [min: number, max: number];

export function clampedTo([min, max]: Clamped, value: number): number {
  return Math.min(Math.max(value, min), max);
}

/** Names the fields whose value was replaced by the nearest one that is served, as `clamped:<name>`. */
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

type ClampedField = [name: string, bounds: Clamped];

function clampedIn(schema: unknown): ClampedField[] {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, TSchema> };
  return Object.entries(properties).flatMap(([name, { clamped }]): ClampedField[] =>
    clamped === undefined ? [] : [[name, clamped as Clamped]],
  );
}

function warningsAbout(sent: unknown, fields: readonly ClampedField[]): Warning[] {
  if (typeof sent !== 'object' || sent === null) return [];
  return fields.flatMap(([name, bounds]) => {
    const value = (sent as Record<string, unknown>)[name];
    if (typeof value !== 'number' || clampedTo(bounds, value) === value) return [];
    return [{ code: 'clamped', name }];
  });
}
