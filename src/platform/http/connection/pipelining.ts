import type { RequestListener, Server } from 'node:http';
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
