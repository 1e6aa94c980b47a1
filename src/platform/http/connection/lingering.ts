import type { Socket } from 'node:net';

/** How long a client may go on sending what nobody reads, after its answer went out. */
const LINGER_MS = 5_000;

/**
 * Makes a connection that is to close after its answer wait until the client closes it too, for a few seconds at most,
 * while what still comes is dropped. Closed at once with bytes unread, TCP would reset it, and the client, still
 * sending, would never see the answer.
 */
export function closeAfterAnswer(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end();
    const late = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once('close', () => clearTimeout(late));
    socket.once('end', () => socket.destroy());
    socket.resume();
  };
}
