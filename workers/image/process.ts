import type { ImageResult, ImageTask } from '../protocol.ts';
import { serveTasks } from '../transport/child-process.ts';
import { perform } from './perform.ts';

/**
 * Performs the same tasks as the thread, in a process that can be killed. The bytes of a result are sent separately
 * from its facts.
 */
serveTasks<ImageTask, ImageResult>(async (task) => {
  const result = await perform(task);
  if (result.kind !== 'transformed') return { reply: result };
  const { data, ...facts } = result;
  return { reply: { ...facts, data: new Uint8Array() }, bytes: data };
});
