import type { ImageResult, ImageTask } from '../protocol.ts';
import { serveTasks } from '../transport/child-process.ts';
import { perform } from './perform.ts';

/** Does what the thread does, where it can be killed. The bytes of a result go separately from its facts. */
serveTasks<ImageTask, ImageResult>(async (task) => {
  const result = await perform(task);
  if (result.kind !== 'transformed') return { reply: result };
  const { data, ...facts } = result;
  return { reply: { ...facts, data: new Uint8Array() }, bytes: data };
});
