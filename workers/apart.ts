import { Socket } from 'node:net';
import process from 'node:process';
import type { ApartAnswer } from './protocol.ts';

/** What a task came to: the verdict goes as a message, the bytes on a pipe of their own. */
export interface Performed<Verdict> {
  verdict: Verdict;
  bytes?: Uint8Array;
}

/** Index of the pipe on which bytes go back; see src/pixels/lanes/apart-process.ts. */
const DATA_PIPE = 4;

/**
 * Makes this process do tasks for the one that forked it, one at a time. It keeps no state: its owner kills it at any
 * moment.
 */
export function serveApart<Task, Verdict>(perform: (task: Task) => Promise<Performed<Verdict>>): void {
  const pipe = new Socket({ fd: DATA_PIPE, readable: false });
  process.on('message', async (task: Task) => {
    const { verdict, bytes } = await perform(task);
    process.send?.({ verdict, sizeBytes: bytes?.byteLength ?? 0 } satisfies ApartAnswer<Verdict>);
    if (bytes !== undefined) pipe.write(bytes);
  });
  // An ordinary exit would wait for native work that may never end.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
}
