import type { IncomingMessage } from 'node:http';

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
