import type { ImageResult, ImageTask } from '../protocol.ts';
import { alone, moved, movedWith } from '../transport/moved.ts';
import { perform } from './perform.ts';

/** Performs one task in a thread. The bytes of a result are transferred to the receiver, not copied. */
export default async function run(task: ImageTask): Promise<ImageResult> {
  const result = await perform(task);
  if (result.kind === 'transformed') return moved(result);
  if (result.kind !== 'branched') return result;
  const outputs = result.outputs.map((output) => (output.kind === 'transformed' ? alone(output) : output));
  const files = outputs.filter((output) => output.kind === 'transformed');
  return movedWith({ ...result, outputs }, files);
}
