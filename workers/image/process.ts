import type { BranchTaskResult, ImageTask, ImageTaskResult } from '../protocol.ts';
import { serveTasks, type TaskOutcome } from '../transport/child-process.ts';
import { performImageTask } from './perform.ts';

const NO_BYTES = new Uint8Array();

/**
 * Performs the same tasks as the thread, in a process that can be killed. The bytes of a result are sent apart from its
 * facts.
 */
serveTasks<ImageTask, ImageTaskResult>(async (task) => {
  const result = await performImageTask(task, true);
  if (result.kind === 'branched') return inOnePiece(result);
  if (result.kind !== 'transformed') return { reply: result };
  const { data, ...facts } = result;
  return { reply: { ...facts, data: NO_BYTES }, bytes: data };
});

/** Joins the files of several passes into one block of bytes. */
function inOnePiece(result: BranchTaskResult): TaskOutcome<BranchTaskResult> {
  const files = result.outputs.flatMap((output) => (output.kind === 'transformed' ? [output.data] : []));
  const outputs = result.outputs.map((output) =>
    output.kind === 'transformed' ? { ...output, data: NO_BYTES } : output,
  );
  const sizes = files.map(({ byteLength }) => byteLength);
  return { reply: { ...result, outputs, sizes }, bytes: Buffer.concat(files) };
}
