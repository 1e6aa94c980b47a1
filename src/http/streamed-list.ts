import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { success } from './envelope.ts';

/**
 * Answers a list that is not paged and may be long: row by row, read only as fast as the caller takes it. Rows are
 * serialized as they are, whatever the route's schema says. Rows that fail on the way break the connection.
 */
export function sendList(reply: FastifyReply, message: string, rows: AsyncIterable<unknown>): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(Readable.from(bodyOf(message, rows)));
}

async function* bodyOf(message: string, rows: AsyncIterable<unknown>): AsyncGenerator<string> {
  const [head, tail] = JSON.stringify(success(message, [])).split('[]') as [string, string];
  let before = `${head}[`;
  for await (const row of rows) {
    yield before + JSON.stringify(row);
    before = ',';
  }
  yield `${before === ',' ? '' : before}]${tail}`;
}
