import { Socket } from 'node:net';
import process from 'node:process';
import { DATA_PIPE, readBytes } from './pipe.ts';
import type { ProcessAnswer, ProcessTask } from './protocol.ts';

/** What a task came to: the verdict goes as a message, the bytes on a pipe of their own. */
export interface Performed<Verdict> {
  verdict: Verdict;
  bytes?: Uint8Array;
}

/**
 * Makes this process do tasks for the one that forked it, one at a time. The input of a task owns its memory. The process
 * keeps no state: its owner kills it at any moment.
 */
export function serveTasks<Task extends { input: Uint8Array }, Verdict>(
  perform: (task: Task) => Promise<Performed<Verdict>>,
): void {
  const pipe = new Socket({ fd: DATA_PIPE });
  process.on('message', async ({ task, sizeBytes }: ProcessTask<Task>) => {
    const input = await readBytes(pipe, sizeBytes);
    const { verdict, bytes } = await perform({ ...task, input } as Task);
    process.send?.({ verdict, sizeBytes: bytes?.byteLength ?? 0 } satisfies ProcessAnswer<Verdict>);
    if (bytes !== undefined) pipe.write(bytes);
  });
  // An ordinary exit would wait for native work that may never end.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
}
