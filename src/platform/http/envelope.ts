import { type Static, type TLiteral, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import type { FastifyReply } from 'fastify';

/** Paging facts of a list. `total` and `page` are absent when a cursor is used. */
export const ListPageMeta = Type.Object(
  {
    total: Type.Optional(Type.Integer()),
    page: Type.Optional(Type.Integer({ description: 'Zero-based.' })),
    perPage: Type.Integer({ description: 'The size actually served.' }),
    hasMore: Type.Boolean(),
    nextCursor: Type.Union([Type.String(), Type.Null()], { description: 'Opaque; null on the last page.' }),
  },
  { title: 'ListMeta' },
);
export type ListPageMeta = Static<typeof ListPageMeta>;

interface Success<T> {
  success: true;
  message: string;
  data: T;
  meta?: ListPageMeta;
  timestamp: string;
}

/**
 * The body of every successful JSON response.
 * @param message a short text for a person.
 */
export function successEnvelope<T>(message: string, data: T, meta?: ListPageMeta): Success<T> {
  const timestamp = timestampNow();
  return meta === undefined
    ? { success: true, message, data, timestamp }
    : { success: true, message, data, meta, timestamp };
}

let formattedMs = 0;
let formattedText = '';

/**
 * The current instant as text. It is formatted once per millisecond, because formatting takes as long as the rest of a
 * small envelope.
 */
function timestampNow(): string {
  const nowMs = Date.now();
  if (nowMs !== formattedMs) {
    formattedMs = nowMs;
    formattedText = new Date(nowMs).toISOString();
  }
  return formattedText;
}

/** The response schema of `successEnvelope(message, data)`. */
export function envelopeSchemaOf<T extends TSchema>(data: T) {
  return envelopeSchema({ data });
}

/** The response schema of a paged list of rows. */
export function pageSchemaOf<T extends TSchema>(row: T) {
  return envelopeSchema({ data: Type.Array(row), meta: ListPageMeta });
}

function envelopeSchema<P extends TProperties>(contents: P) {
  return Type.Object({
    success: Type.Literal(true),
    message: Type.String(),
    ...contents,
    timestamp: Type.String({ format: 'date-time' }),
  });
}

/**
 * The schema of a value that has one of several shapes, which clients distinguish by the field `object`.
 * @param shapes each has a title and a different literal for `object`.
 */
export function discriminatedUnionSchema<
  T extends Array<TSchema & { properties: { object: TLiteral<string> } }>,
>(shapes: readonly [...T]) {
  const mapping = shapes.map(({ title, properties }) => [
    properties.object.const,
    `#/components/schemas/${title}`,
  ]);
  return Type.Unsafe<Static<T[number]>>({
    oneOf: shapes,
    discriminator: { propertyName: 'object', mapping: Object.fromEntries(mapping) },
  });
}

/**
 * Sends 201 with the created object.
 * @param path the path below /api/v1 of the object, or of the list that contains it; its segments are encoded.
 * @param message a short text for a person.
 */
export function sendCreated(reply: FastifyReply, path: string, message: string, data: unknown): FastifyReply {
  return reply.code(201).header('location', `/api/v1${path}`).send(successEnvelope(message, data));
}
