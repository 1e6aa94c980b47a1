import { Socket } from 'node:net';
import process from 'node:process';
import type { ChildProcessTask, ProcessAnswer } from '../protocol.ts';
import { DATA_PIPE, readBytes } from './pipe.ts';

/** The result of a task: the reply is sent as a message, the bytes on a separate pipe. */
export interface Performed<Reply> {
  reply: Reply;
  bytes?: Uint8Array;
}

/**
 * Makes this process perform tasks for its parent process, one at a time. The input of a task owns its memory. The
 * process keeps no state, because its parent may kill it at any moment.
 */
export function serveTasks<Task extends { input: Uint8Array }, Reply>(
  perform: (task: Task) => Promise<Performed<Reply>>,
): void {
  const pipe = new Socket({ fd: DATA_PIPE });
  process.on('message', async ({ task, sizeBytes }: ChildProcessTask<Task>) => {
    const before = process.cpuUsage();
    const input = await readBytes(pipe, sizeBytes);
    const { reply, bytes } = await perform({ ...task, input } as Task);
    const { user, system } = process.cpuUsage(before);
    const answer = { reply, sizeBytes: bytes?.byteLength ?? 0, cpuMs: (user + system) / 1_000 };
    process.send?.(answer satisfies ProcessAnswer<Reply>);
    if (bytes !== undefined) pipe.write(bytes);
  });
  // An ordinary exit would wait for native work, which may never end.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
}
