import { performImageTask } from '../../../workers/image/perform.ts';
import { DeadlineError, taskFailureOf } from '../../../workers/image/refusal.ts';
import type { BranchTaskResult, ImagePass, ImageTask, ImageTaskResult } from '../../../workers/protocol.ts';
import { serveTasks } from '../../../workers/transport/child-process.ts';

const LATE = taskFailureOf(new DeadlineError(), false);

/** Stands in for the image process: a pass with effort 9 is never done by its deadline, and any other pass is done. */
serveTasks<ImageTask, ImageTaskResult>(async (task) => {
  if (task.kind === 'transform' && isLate(task.pass)) return LATE;
  if (task.kind !== 'branch') return performImageTask(task);
  const passes = task.passes.filter((pass) => !isLate(pass));
  const done = (await performImageTask({ ...task, passes })) as BranchTaskResult;
  const outputs = done.outputs.values();
  return {
    ...done,
    outputs: task.passes.map((pass) => (isLate(pass) ? LATE : (outputs.next().value ?? LATE))),
  };
});

function isLate({ encode }: ImagePass): boolean {
  return encode.effort === 9;
}
