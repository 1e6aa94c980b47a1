import sharp from 'sharp';
import type { ImageResult, ImageTask } from '../protocol.ts';
import { compare } from './compare.ts';
import { closeOtherLoaders } from './input.ts';
import { describe } from './metadata.ts';
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
      return transform(task);
  }
}
