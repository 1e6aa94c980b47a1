import { getPriority } from 'node:os';
import type {
  ImageTask,
  ImageTaskResult,
  TaskFailure,
  TransformTaskResult,
} from '../../../workers/protocol.ts';
import { serveTasks } from '../../../workers/transport/child-process.ts';

const TIMINGS = { decodeMs: 0, processMs: 0, encodeMs: 0 };
const BYTES = Buffer.from('done');
const LATE: TaskFailure = {
  kind: 'failure',
  code: 'internal_error',
  message: 'The pass was not done by its deadline.',
  details: { reason: 'deadline_exceeded' },
  doableShare: 0.1,
};

/**
 * Stands in for the image process: the background colour of a pass chooses what it does with the task. `spin` never
 * answers and never lets its loop run, as native code that nothing stops; `secrets` answers with its environment,
 * `priority` with its niceness, `echo` with its input, `threads` with the threads of libvips that the task may use, as
 * the width. `late` answers that its deadline has passed.
 */
serveTasks<ImageTask, ImageTaskResult>(async (task) => {
  if (task.kind === 'branch') {
    const outputs = task.passes.map((pass) => (pass.encode.background === 'late' ? LATE : pictureOf(BYTES)));
    return { kind: 'branched', outputs, timings: TIMINGS };
  }
  const behaviour = task.kind === 'transform' ? task.pass.encode.background : undefined;
  if (behaviour === 'late') return LATE;
  if (behaviour === 'spin') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  if (behaviour === 'die') {
    process.kill(process.pid, 'SIGABRT');
    // A test runner may handle the signal first: no answer overtakes the death.
    await new Promise(() => undefined);
  }
  const texts: Record<string, string> = {
    secrets: Object.keys(process.env).join(' '),
    priority: String(getPriority()),
  };
  const bytes = behaviour === 'echo' ? task.input : Buffer.from(texts[behaviour ?? ''] ?? 'done');
  const threads = (task.kind === 'transform' && task.threads) || 0;
  return pictureOf(bytes, behaviour === 'threads' ? threads : 1);
});

function pictureOf(bytes: Uint8Array, width = 1): TransformTaskResult {
  const facts = { contentType: 'image/png', width, height: 1, timings: TIMINGS };
  return { kind: 'transformed', data: new Uint8Array(bytes), ...facts };
}
