import { Socket } from 'node:net';
import process from 'node:process';
import type { ProcessAnswer, ProcessTask } from '../protocol.ts';
import { DATA_PIPE, readBytes } from './pipe.ts';

/** What a task came to: the reply goes as a message, the bytes on a pipe of their own. */
export interface Performed<Reply> {
  reply: Reply;
  bytes?: Uint8Array;
}

/**
 * Makes this process do tasks for the one that forked it, one at a time. The input of a task owns its memory. The process
 * keeps no state: its owner kills it at any moment.
 */
export function serveTasks<Task extends { input: Uint8Array }, Reply>(
  perform: (task: Task) => Promise<Performed<Reply>>,
): void {
  const pipe = new Socket({ fd: DATA_PIPE });
  process.on('message', async ({ task, sizeBytes }: ProcessTask<Task>) => {
    const input = await readBytes(pipe, sizeBytes);
    const { reply, bytes } = await perform({ ...task, input } as Task);
    process.send?.({ reply, sizeBytes: bytes?.byteLength ?? 0 } satisfies ProcessAnswer<Reply>);
    if (bytes !== undefined) pipe.write(bytes);
  });
  // An ordinary exit would wait for native work that may never end.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
}
