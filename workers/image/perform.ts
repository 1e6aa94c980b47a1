import sharp from 'sharp';
import type { Failure, ImageResult, ImageTask, Transformed, TransformTask } from '../protocol.ts';
import { compare } from './facts/compare.ts';
import { closeOtherLoaders } from './input.ts';
import { describe } from './metadata/metadata.ts';
import { transform } from './pipeline.ts';

// One picture is worked on by one core: the others have pictures of their own. What libvips would cache never comes again.
sharp.concurrency(1);
sharp.cache(false);
closeOtherLoaders();

/** Does one task, in whatever thread or process it came to. Never throws: a failure is an answer. */
export async function perform(task: ImageTask): Promise<ImageResult> {
  const result = await done(task);
  // Freed at once: left to the garbage collector, inputs of megabytes make it collect everything again and again.
  task.input.buffer.transfer(0);
  return result;
}

function done(task: ImageTask): Promise<ImageResult> {
  switch (task.kind) {
    case 'describe':
      return describe(task.input, task.raw, task);
    case 'compare':
      return compare(task);
    case 'transform':
      return transformed(task);
  }
}

/** A description of the result costs neither a way to another thread nor a copy here. */
async function transformed(task: TransformTask): Promise<Transformed | Failure> {
  const result = await transform(task);
  if (result.kind === 'failure' || task.describes === undefined) return result;
  // What a pass writes has one picture per file, but for animations, whose frames the codec counts itself.
  const described = await describe(result.data, undefined, { pictures: 1 });
  if (described.kind === 'failure') return result;
  const { image, metadata } = described;
  return { ...result, facts: { image: { ...image, ...result.hashes }, metadata } };
}
