import type {
  BranchTaskResult,
  ImageTask,
  TaskFailure,
  TransformTaskResult,
} from '../../../workers/protocol.ts';
import type { GatedPass } from './gated-pass.ts';

/**
 * Stands in for the image thread: the background colour of a pass chooses what it does with the task. `hold` waits
 * until the first number behind the gate of its pass is no longer 0, and `work` does so as sharp does: outside the
 * thread's loop. `refuse` refuses after that. `threads` answers with the threads of libvips that the task may use, as
 * the width. Several passes have no times of their own, and together the times below.
 */
export default async function run(
  task: ImageTask,
): Promise<TransformTaskResult | BranchTaskResult | TaskFailure> {
  if (task.kind === 'branch') {
    const outputs = task.passes.map(() => ({ ...answer(task), data: new Uint8Array(1) }));
    return { kind: 'branched', outputs, timings: { decodeMs: 1, processMs: 20, encodeMs: 300 } };
  }
  const behaviour = task.kind === 'transform' ? task.pass.encode.background : undefined;
  switch (behaviour) {
    case 'die':
      process.exit(1);
      break;
    case 'throw':
      throw new Error('a fault of the thread');
    case 'fail':
      return { kind: 'failure', code: 'invalid_param', message: 'Too wide.', param: 'steps[0].params.width' };
    case 'late': {
      const achieved = { format: 'webp', quality: 1, bytes: 900, trials: 3 };
      const details = { reason: 'deadline_exceeded', reached: 900, achieved };
      return { kind: 'failure', code: 'internal_error', message: 'Not done in time.', details };
    }
    case 'threads': {
      const threads = (task.kind === 'transform' && task.threads) || 0;
      return { ...answer(task), width: threads };
    }
    case 'hold':
      hold(task);
      break;
    case 'refuse':
      await work(task);
      return {
        kind: 'failure',
        code: 'invalid_param',
        message: 'Too far left.',
        param: 'steps[0].params.left',
      };
    case 'work':
      await work(task);
  }
  return answer(task);
}

function answer({ input }: ImageTask): TransformTaskResult {
  const timings = { decodeMs: 0, processMs: 0, encodeMs: 0 };
  return { kind: 'transformed', data: input, contentType: 'image/png', width: 1, height: 1, timings };
}

/** Without letting the thread's loop run. */
function hold(task: ImageTask): void {
  const gate = gateOf(task);
  if (gate !== null) Atomics.wait(gate, 0, 0, 20_000);
}

async function work(task: ImageTask): Promise<void> {
  const gate = gateOf(task);
  if (gate !== null) await Atomics.waitAsync(gate, 0, 0, 20_000).value;
}

function gateOf(task: ImageTask): Int32Array | null {
  const gate = task.kind === 'transform' ? (task.pass as Partial<GatedPass>).gate : undefined;
  return gate === undefined ? null : new Int32Array(gate.buffer);
}
