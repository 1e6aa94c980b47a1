import { Readable } from 'node:stream';
import type { TSchema } from '@sinclair/typebox';
import fastJson, { type Schema } from 'fast-json-stringify';
import type { FastifyReply } from 'fastify';
import { success } from '../envelope.ts';

/** Writes a row as JSON. */
type RowWriter = (row: unknown) => string;

/** The writer of rows of a schema: as a route's own answer is written, a field that the schema lacks stays out. */
export function rowWriter(schema: TSchema): RowWriter {
  return fastJson(schema as unknown as Schema);
}

/**
 * Answers a list that is not paged and may be long: row by row, read only as fast as the caller takes it. Rows that
 * fail on the way break the connection.
 */
export function sendList(
  reply: FastifyReply,
  message: string,
  rows: AsyncIterable<unknown>,
  write: RowWriter,
): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(Readable.from(bodyOf(message, rows, write)));
}

async function* bodyOf(
  message: string,
  rows: AsyncIterable<unknown>,
  write: RowWriter,
): AsyncGenerator<string> {
  const [head, tail] = JSON.stringify(success(message, [])).split('[]') as [string, string];
  let before = `${head}[`;
  for await (const row of rows) {
    yield before + write(row);
    before = ',';
  }
  yield `${before === ',' ? '' : before}]${tail}`;
}
