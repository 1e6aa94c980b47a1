import type { ImageResult, ImageTask } from '../protocol.ts';
import { moved } from '../transport/moved.ts';
import { perform } from './perform.ts';

/** Performs one task in a thread. The bytes of a result are transferred to the receiver, not copied. */
export default async function run(task: ImageTask): Promise<ImageResult> {
  const result = await perform(task);
  return result.kind === 'transformed' ? moved(result) : result;
}
