import type { Socket } from 'node:net';

/** How long a client may continue to send unread data after its response was sent. */
const LINGER_MS = 5_000;

/**
 * Delays the closing of a connection after its response until the client closes it too, for a few seconds at most, and
 * drops what is still received. If it were closed with unread bytes, TCP would reset it, and a client that is still
 * sending would never see the response.
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
