import { serveTasks } from '../../../workers/transport/child-process.ts';

/** Stands in for the image process: its work goes on until the process is killed. */
serveTasks(() => new Promise(() => undefined));
