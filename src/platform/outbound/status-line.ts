import type { Socket } from 'node:net';

const FINAL_STATUS = /^HTTP\/1\.[01] ([2-5]\d\d)/;
/** A whole 1xx answer, which another one follows. */
const INTERIM = /^HTTP\/1\.[01] 1\d\d[^\n]*\n(?:[^\r\n][^\n]*\n)*\r?\n/;
/** As many bytes of an answer as the status line needs. */
const LOOKED_AT_CHARACTERS = 16 * 1024;

/**
 * Reads along until the status line of the final answer is there: a peer may begin an answer and never end its headers.
 * Answers that status; undefined before it came. Interim answers (1xx) do not count.
 */
export function watchStatus(socket: Socket): () => number | undefined {
  let head = '';
  let status: number | undefined;
  const read = (chunk: Buffer) => {
    head += chunk.toString('latin1', 0, LOOKED_AT_CHARACTERS);
    for (let interim = INTERIM.exec(head); interim !== null; interim = INTERIM.exec(head)) {
      head = head.slice(interim[0].length);
    }
    const final = FINAL_STATUS.exec(head);
    if (final !== null) status = Number(final[1]);
    if (final !== null || head.length > LOOKED_AT_CHARACTERS) socket.off('data', read);
  };
  socket.on('data', read);
  return () => status;
}
