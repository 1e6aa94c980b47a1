import sharp from 'sharp';
import type {
  ImageTask,
  ImageTaskResult,
  TaskFailure,
  TransformTask,
  TransformTaskResult,
} from '../protocol.ts';
import { oncePerProcess } from '../transport/process-state.ts';
import { markTransferable } from '../transport/transferable.ts';
import { performBranchTask } from './branches.ts';
import { performCompareTask } from './facts/compare.ts';
import { blockUnusedLoaders } from './input.ts';
import { describeImage } from './metadata/metadata.ts';
import { performTransformTask } from './pipeline.ts';

// libvips would keep results for repeated operations, but no operation is repeated here.
sharp.cache(false);
// The loaders are blocked once per process: blocking them again would disturb threads that read pictures.
oncePerProcess('closeOtherLoaders', blockUnusedLoaders);

/** Performs one task in a thread. The bytes of a result are transferred to the receiver, not copied. */
export default async function performInThread(task: ImageTask): Promise<ImageTaskResult> {
  return markTransferable(await performImageTask(task));
}

/**
 * Performs one task, in a thread or in a child process. It never throws: a failure is returned as a result.
 * @param canBeKilled whether the sender can kill this process after the result.
 */
export async function performImageTask(task: ImageTask, canBeKilled = false): Promise<ImageTaskResult> {
  // One core works on one picture, because the other cores have their own pictures. A task may set another number.
  sharp.concurrency(('threads' in task && task.threads) || 1);
  const result = await performTask(task, canBeKilled);
  // The input is freed at once, because inputs of several megabytes would often make the garbage collector run full
  // collections. Work that continues after the result still reads the input.
  if (!('leavesWork' in result)) task.input.buffer.transfer(0);
  return result;
}

function performTask(task: ImageTask, canBeKilled: boolean): Promise<ImageTaskResult> {
  switch (task.kind) {
    case 'describe':
      return describeImage(task.input, task.raw, task);
    case 'compare':
      return performCompareTask(task);
    case 'branch':
      return performBranchTask(task, canBeKilled);
    case 'transform':
      return performAndDescribe(task, canBeKilled);
  }
}

/**
 * Performs a pass and describes its result if the task requests a description. The result is neither copied nor sent to
 * another thread.
 */
async function performAndDescribe(
  task: TransformTask,
  canBeKilled: boolean,
): Promise<TransformTaskResult | TaskFailure> {
  const result = await performTransformTask(task, canBeKilled);
  if (result.kind === 'failure' || task.describes === undefined) return result;
  // The result of a pass has one picture per file. The frames of an animation are counted by the codec.
  const described = await describeImage(result.data, undefined, { pictures: 1 });
  if (described.kind === 'failure') return result;
  const { image, metadata } = described;
  return { ...result, facts: { image: { ...image, ...result.hashes }, metadata } };
}
