import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TSchema } from '@sinclair/typebox';
import fastJson, { type Schema } from 'fast-json-stringify';
import type { FastifyReply } from 'fastify';
import { PacedWork } from '../queues.ts';
import { successEnvelope } from './envelope.ts';

/**
 * Responses that may have megabytes of JSON. They are written in pieces, over several turns of the event loop, so that
 * they do not delay the calls of other accounts.
 */

/** Paces the reading and writing of long answers. An account with many of them then does not occupy the event loop. */
export const longAnswerWork = new PacedWork();

/**
 * How many characters of an answer are written before other work has its turn. An answer that is shorter is sent as
 * text, which can be stored under its Idempotency-Key.
 */
const MAX_CHARACTERS_PER_EVENT_LOOP_TURN = 512 * 1024;

/** A value that is JSON text already. A long answer contains the text as it is, without parsing it. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}

/**
 * Sends a response that may be long. Accounts take turns, so that the CPU time of a long answer delays only other long
 * answers of its account.
 * @param answer the envelope. Its lists may be iterators, whose elements are then made when they are written.
 */
export async function sendLongAnswer(
  reply: FastifyReply,
  accountId: string,
  answer: object,
): Promise<FastifyReply> {
  const parts: Buffer[] = [];
  let text = '';
  let endTurn: (() => void) | undefined;
  try {
    for (const piece of jsonPieces(answer)) {
      text += piece;
      if (text.length < MAX_CHARACTERS_PER_EVENT_LOOP_TURN) continue;
      parts.push(Buffer.from(text));
      text = '';
      endTurn?.();
      endTurn = undefined;
      await nextTurn();
      endTurn = await longAnswerWork.takeTurn(accountId);
    }
  } finally {
    endTurn?.();
  }
  return reply
    .type('application/json; charset=utf-8')
    .serializer((body: unknown) => body as string)
    .send(parts.length === 0 ? text : Buffer.concat([...parts, Buffer.from(text)]));
}

/** The least characters of a streamed list that are sent at a time, except for its last ones. */
const MIN_STREAMED_CHARACTERS = 16 * 1024;

/**
 * Sends a long list without pages, and reads rows only as fast as the client receives them. An error while reading
 * closes the connection.
 * @param toData what the list shows of a row. By default, the row itself.
 */
export function streamList<T>(
  reply: FastifyReply,
  message: string,
  rows: AsyncIterable<T>,
  toData: (row: T) => unknown = (row) => row,
): FastifyReply {
  async function* body(): AsyncGenerator<string> {
    const [head, tail] = JSON.stringify(successEnvelope(message, [])).split('[]') as [string, string];
    let text = `${head}[`;
    let separator = '';
    for await (const row of rows) {
      text += separator;
      separator = ',';
      for (const piece of jsonPieces(toData(row))) {
        text += piece;
        if (text.length < MIN_STREAMED_CHARACTERS) continue;
        yield text;
        text = '';
      }
    }
    yield `${text}]${tail}`;
  }
  return reply.type('application/json; charset=utf-8').send(Readable.from(body()));
}

/**
 * Creates a function that writes rows by their schema. Like the serializer of any response, it leaves out fields that
 * are not in the schema.
 */
export function createRowWriter(schema: TSchema): (row: unknown) => JsonText {
  const write = fastJson(schema as unknown as Schema);
  return (row) => new JsonText(write(row));
}

/**
 * How many lists and objects within each other are written element by element: an envelope, its data, a list in the
 * data, and the elements of that list. What they contain is written as one piece.
 */
const MAX_SPLIT_DEPTH = 4;

/** The JSON of a value in pieces. As in any JSON, fields without a value are left out. */
export function* jsonPieces(value: unknown, depth = MAX_SPLIT_DEPTH): Generator<string, void, undefined> {
  if (value instanceof JsonText) yield value.text;
  else if (depth === 0 || !isSplit(value)) yield JSON.stringify(value) ?? 'null';
  else if (Symbol.iterator in value) {
    let before = '[';
    for (const element of value as Iterable<unknown>) {
      yield before;
      yield* jsonPieces(element, depth - 1);
      before = ',';
    }
    yield before === '[' ? '[]' : ']';
  } else {
    let before = '{';
    for (const [name, field] of Object.entries(value)) {
      if (field === undefined) continue;
      yield `${before}${JSON.stringify(name)}:`;
      yield* jsonPieces(field, depth - 1);
      before = ',';
    }
    yield before === '{' ? '{}' : '}';
  }
}

/** Whether a value is a list or an object, and has no JSON form of its own, as a date has. */
function isSplit(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !('toJSON' in value);
}
