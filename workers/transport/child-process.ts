import { flushCompileCache } from 'node:module';
import { Socket } from 'node:net';
import process from 'node:process';
import {
  type ChildProcessAnswer,
  DATA_PIPE_INDEX,
  joinMessage,
  type SplitMessage,
  splitMessage,
  TASK_BEGUN,
} from './bytes.ts';

/**
 * Makes this process perform tasks for its parent process, one at a time. The process keeps no state, because its
 * parent may kill it at any moment.
 */
export function serveTasks<Task, Reply>(perform: (task: Task) => Promise<Reply>): void {
  const pipe = new Socket({ fd: DATA_PIPE_INDEX });
  process.on('message', async (message: SplitMessage<Task>) => {
    process.send?.(TASK_BEGUN);
    const before = process.cpuUsage();
    const { sent, files } = splitMessage(await perform(await joinMessage(message, pipe)));
    const { user, system } = process.cpuUsage(before);
    process.send?.({ ...sent, cpuMs: (user + system) / 1_000 } satisfies ChildProcessAnswer<Reply>);
    for (const file of files) pipe.write(file);
  });
  // Terminals and tools send these signals to all processes of the service at once, but only the primary process acts
  // on them. Node itself would open a port for debuggers at SIGUSR1.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'])
    process.on(signal, () => undefined);
  // An ordinary exit would wait for native work, which may never end.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  // Node writes its code cache only at an ordinary exit, but this process is killed. The next process starts faster
  // with the cache.
  flushCompileCache();
}
