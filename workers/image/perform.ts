import sharp from 'sharp';
import type { Failure, ImageResult, ImageTask, Transformed, TransformTask } from '../protocol.ts';
import { markTransferable, movedWith, withOwnMemory } from '../transport/moved.ts';
import { oncePerProcess } from '../transport/once.ts';
import { performBranches } from './branches.ts';
import { compare } from './facts/compare.ts';
import { closeOtherLoaders } from './input.ts';
import { describe } from './metadata/metadata.ts';
import { transform } from './pipeline.ts';

// libvips' cache would never be hit.
sharp.cache(false);
// A thread that is started later must not do it again, while others read pictures.
oncePerProcess('closeOtherLoaders', closeOtherLoaders);

/** Performs one task in a thread. The bytes of a result are transferred to the receiver, not copied. */
export default async function performInThread(task: ImageTask): Promise<ImageResult> {
  const result = await performImageTask(task);
  if (result.kind === 'transformed') return markTransferable(result);
  if (result.kind !== 'branched') return result;
  const outputs = result.outputs.map((output) =>
    output.kind === 'transformed' ? withOwnMemory(output) : output,
  );
  const files = outputs.filter((output) => output.kind === 'transformed');
  return movedWith({ ...result, outputs }, files);
}

/** Performs one task, in a thread or in a child process. It never throws: a failure is an answer. */
export async function performImageTask(task: ImageTask): Promise<ImageResult> {
  // One core works on one picture, because the other cores have their own pictures, unless the task sets another
  // number.
  sharp.concurrency(('threads' in task && task.threads) || 1);
  const result = await performTask(task);
  // The input is freed at once, because inputs of several megabytes would make the garbage collector run full
  // collections again and again.
  task.input.buffer.transfer(0);
  return result;
}

function performTask(task: ImageTask): Promise<ImageResult> {
  switch (task.kind) {
    case 'describe':
      return describe(task.input, task.raw, task);
    case 'compare':
      return compare(task);
    case 'branch':
      return performBranches(task);
    case 'transform':
      return transformed(task);
  }
}

/**
 * Performs a pass and describes its result if the task asks for it, without a task for another thread and without a
 * copy.
 */
async function transformed(task: TransformTask): Promise<Transformed | Failure> {
  const result = await transform(task);
  if (result.kind === 'failure' || task.describes === undefined) return result;
  // The result of a pass has one picture per file, except for animations, whose frames the codec counts itself.
  const described = await describe(result.data, undefined, { pictures: 1 });
  if (described.kind === 'failure') return result;
  const { image, metadata } = described;
  return { ...result, facts: { image: { ...image, ...result.hashes }, metadata } };
}
