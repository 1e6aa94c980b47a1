import type { Socket } from 'node:net';

const FINAL_STATUS = /^HTTP\/1\.[01] ([2-5]\d\d)/;
/** A complete 1xx response, which is followed by another one. */
const INTERIM = /^HTTP\/1\.[01] 1\d\d[^\n]*\n(?:[^\r\n][^\n]*\n)*\r?\n/;
/** The most bytes that are read for the status line. */
const MAX_HEAD_CHARACTERS = 16 * 1024;

/**
 * Observes the bytes of a response up to the status line of the final response, because a peer may never end its
 * headers. Returns the status; undefined while it is not received. Interim responses (1xx) are skipped.
 */
export function watchStatus(socket: Socket): () => number | undefined {
  let head = '';
  let status: number | undefined;
  const read = (chunk: Buffer) => {
    head += chunk.toString('latin1', 0, MAX_HEAD_CHARACTERS);
    for (let interim = INTERIM.exec(head); interim !== null; interim = INTERIM.exec(head)) {
      head = head.slice(interim[0].length);
    }
    const final = FINAL_STATUS.exec(head);
    if (final !== null) status = Number(final[1]);
    if (final !== null || head.length > MAX_HEAD_CHARACTERS) socket.off('data', read);
  };
  socket.on('data', read);
  return () => status;
}
