import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The most requests of a connection that are in progress. A client that does not pipeline has one, and a load tester
 * about ten.
 */
const MAX_REQUESTS_IN_PROGRESS = 32;

/**
 * Closes a connection with more than MAX_REQUESTS_IN_PROGRESS requests in progress. Node begins all requests of a chunk
 * in one turn of the event loop, even if the client reads no response: 20 connections of 2,000 requests each blocked a
 * process until it was replaced. Call this before other listeners for requests are added.
 */
export function limitPipelining(server: Server): void {
  const inProgress = new WeakMap<Socket, number>();
  const change = (socket: Socket, by: 1 | -1) => {
    const count = (inProgress.get(socket) ?? 0) + by;
    inProgress.set(socket, count);
    return count;
  };
  const listeners = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const { socket } = request;
    // The parser still reads the rest of the chunk of a closed connection.
    if (socket.destroyed) return;
    if (change(socket, 1) > MAX_REQUESTS_IN_PROGRESS) {
      socket.destroy();
      return;
    }
    response.once('close', () => change(socket, -1));
    for (const listener of listeners) listener(request, response);
  });
}

/** The number of chunks that a body may have, however small they are. */
const MAX_CHUNKS_OF_ANY_SIZE = 4_096;
/**
 * The smallest mean size of the chunks of a body with more than MAX_CHUNKS_OF_ANY_SIZE. Clients send chunks of
 * kilobytes.
 */
const MIN_MEAN_CHUNK_BYTES = 128;

/**
 * Ends the connection of a message whose body comes in too many small chunks. Node calls JavaScript once per chunk, and
 * begins no other work until it has parsed what a socket has received, up to 2 MB: with chunks of one byte, four
 * clients without a credential kept other calls waiting for seconds. Requests have this limit, and so do responses of
 * other hosts. Call this before a byte of the body is parsed.
 * @param error the reason that the reader of the body gets.
 */
export function limitSmallChunks(message: IncomingMessage, error?: Error): void {
  // A body without chunked encoding is passed on as the socket receives it.
  if (message.headers['transfer-encoding'] === undefined) return;
  let chunks = 0;
  let sizeBytes = 0;
  const push = message.push.bind(message);
  message.push = (chunk: Buffer | null) => {
    // After the message was destroyed, the parser still passes on the rest of what was received.
    if (message.destroyed) return false;
    chunks += 1;
    sizeBytes += chunk?.length ?? 0;
    if (chunks <= MAX_CHUNKS_OF_ANY_SIZE + sizeBytes / MIN_MEAN_CHUNK_BYTES) return push(chunk);
    message.destroy(error);
    return false;
  };
  // If nobody reads the body, Node calls `_dump`, after which the chunks would not pass through `push`.
  Object.assign(message, { _dump: () => message.removeAllListeners('data').resume() });
}
