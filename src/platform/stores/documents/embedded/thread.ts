import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { type CallReply, serializeError } from '../../embedded/pending-calls.ts';
import type { CollectionSpec } from '../port.ts';
import { SqliteDatabase } from './database.ts';
import { declareTable, readDeclaredCollections } from './declare.ts';
import type { SqliteCollection } from './table.ts';

/** One call of a collection's method. `declare` takes a CollectionSpec; `ping` and `close` take nothing. */
export interface CollectionCallMessage {
  id: number;
  collection: string;
  method: string;
  args: unknown[];
}

/**
 * The thread that owns the database file. All calls that arrive during a commit are executed in the next transaction
 * and answered when it is on disk, so that each batch needs one sync. After a failed commit the thread ends with the
 * error, and its owner fails the waiting calls and starts a new thread.
 */
const messagePort = parentPort;
if (messagePort === null) throw new Error('This file runs as a worker thread.');

const database = new SqliteDatabase((workerData as { path: string }).path);
const tables = new Map<string, SqliteCollection>();

messagePort.on('message', (first: CollectionCallMessage[]) => {
  const batch = [...first];
  for (
    let next = receiveMessageOnPort(messagePort);
    next !== undefined;
    next = receiveMessageOnPort(messagePort)
  ) {
    batch.push(...(next.message as CollectionCallMessage[]));
  }
  messagePort.postMessage(commitBatch(batch));
  if (batch.some(({ method }) => method === 'close')) {
    database.close();
    messagePort.close();
  }
});

function commitBatch(batch: CollectionCallMessage[]): CallReply[] {
  database.exec('BEGIN');
  const answers = batch.map(answerCall);
  if (!database.inTransaction) throw new Error('SQLite gave up the transaction; the disk may be full');
  database.exec('COMMIT');
  return answers;
}

/**
 * Runs a call. Each change is one statement, so a failed one leaves nothing in the transaction, which all calls of the
 * batch share.
 */
function answerCall(call: CollectionCallMessage): CallReply {
  try {
    return { id: call.id, value: runCall(call) };
  } catch (error) {
    return { id: call.id, error: serializeError(error) };
  }
}

function runCall({ collection, method, args }: CollectionCallMessage): unknown {
  if (method === 'ping' || method === 'close') return undefined;
  if (method === 'collections') return readDeclaredCollections(database);
  if (method === 'declare') {
    tables.set(collection, declareTable(database, args[0] as CollectionSpec));
    return undefined;
  }
  const table = tables.get(collection);
  if (table === undefined) throw new Error(`The collection ${collection} was not declared.`);
  const execute = table[method as keyof SqliteCollection] as (...args: unknown[]) => unknown;
  return execute.call(table, ...args);
}
