import { Readable } from 'node:stream';
import type { TSchema } from '@sinclair/typebox';
import fastJson, { type Schema } from 'fast-json-stringify';
import type { FastifyReply } from 'fastify';
import { successEnvelope } from '../envelope.ts';

/** Writes a row as JSON. */
type RowWriter = (row: unknown) => string;

/**
 * Creates a serializer for the rows of a schema, which omits fields that are not in the schema, as for any response.
 */
export function createRowWriter(schema: TSchema): RowWriter {
  return fastJson(schema as unknown as Schema);
}

/**
 * Sends a long list without pages, row by row, and reads rows only as fast as the client receives them. An error while
 * reading closes the connection.
 */
export function streamList(
  reply: FastifyReply,
  message: string,
  rows: AsyncIterable<unknown>,
  write: RowWriter,
): FastifyReply {
  async function* body(): AsyncGenerator<string> {
    const [head, tail] = JSON.stringify(successEnvelope(message, [])).split('[]') as [string, string];
    let before = `${head}[`;
    for await (const row of rows) {
      yield before + write(row);
      before = ',';
    }
    yield `${before === ',' ? '' : before}]${tail}`;
  }
  return reply.type('application/json; charset=utf-8').send(Readable.from(body()));
}
