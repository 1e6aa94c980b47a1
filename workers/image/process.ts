import type { ImageTask, ImageTaskResult } from '../protocol.ts';
import { serveTasks } from '../transport/child-process.ts';
import { performImageTask } from './perform.ts';

/** Performs the same tasks as the thread, in a process that can be killed. */
serveTasks<ImageTask, ImageTaskResult>((task) => performImageTask(task, true));
