import { serveApart } from '../apart.ts';
import type { ImageResult, ImageTask } from '../protocol.ts';
import { perform } from './perform.ts';

/** Does what the thread does, where it can be killed. The bytes of a result go apart from its facts. */
serveApart<ImageTask, ImageResult>(async (task) => {
  const result = await perform(ownInput(task));
  if (result.kind !== 'transformed') return { verdict: result };
  const { data, ...facts } = result;
  return { verdict: { ...facts, data: new Uint8Array() }, bytes: data };
});

/** What was read from a message may be a part of its memory, which a task has to own. */
function ownInput(task: ImageTask): ImageTask {
  return { ...task, input: new Uint8Array(task.input) };
}
