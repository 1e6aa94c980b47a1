import { Socket } from 'node:net';
import process from 'node:process';
import type { ChildProcessAnswer, ChildProcessTask, RasterInput } from '../protocol.ts';
import { DATA_PIPE_INDEX, readBytesFromPipe } from './pipe.ts';

/** The result of a task. The reply is sent as a message, the bytes on a separate pipe. */
export interface TaskOutcome<Reply> {
  reply: Reply;
  bytes?: Uint8Array;
}

/**
 * Makes this process perform tasks for its parent process, one at a time. The input of a task must own its memory. The
 * process keeps no state, because its parent may kill it at any moment.
 */
export function serveTasks<Task extends { input: Uint8Array }, Reply>(
  perform: (task: Task) => Promise<TaskOutcome<Reply>>,
): void {
  const pipe = new Socket({ fd: DATA_PIPE_INDEX });
  process.on('message', async ({ task, ...files }: ChildProcessTask<Task>) => {
    const before = process.cpuUsage();
    const { reply, bytes } = await perform({ ...task, ...(await readFiles(pipe, files)) } as unknown as Task);
    const { user, system } = process.cpuUsage(before);
    const answer = { reply, sizeBytes: bytes?.byteLength ?? 0, cpuMs: (user + system) / 1_000 };
    process.send?.(answer satisfies ChildProcessAnswer<Reply>);
    if (bytes !== undefined) pipe.write(bytes);
  });
  // An ordinary exit would wait for native work, which may never end.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
}

/** Reads the input of a task and its second pictures, each into its own memory. */
async function readFiles(
  pipe: Socket,
  { sizeBytes, layers }: Omit<ChildProcessTask<unknown>, 'task'>,
): Promise<{ input: Uint8Array<ArrayBuffer>; layers?: Record<string, RasterInput> }> {
  if (layers.length === 0) return { input: await readBytesFromPipe(pipe, sizeBytes) };
  const all = await readBytesFromPipe(
    pipe,
    layers.reduce((sum, layer) => sum + layer.sizeBytes, sizeBytes),
  );
  let end = sizeBytes;
  const rasters = layers.map(({ id, sizeBytes, ...raster }): [string, RasterInput] => {
    const start = end;
    end += sizeBytes;
    return [id, { input: new Uint8Array(all.subarray(start, end)), ...raster }];
  });
  return { input: new Uint8Array(all.subarray(0, sizeBytes)), layers: Object.fromEntries(rasters) };
}
