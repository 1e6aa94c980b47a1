import { writeFileSync } from 'node:fs';

/** Between 0, which the processes of the service have, and 1,000. */
const SCORE = 800;

/**
 * Makes Linux end this process, and those that it starts later, before the processes of the service when memory runs
 * out. It does nothing on other systems, and for a process that has ended.
 */
export function endFirstWithoutMemory(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, String(SCORE));
  } catch {}
}
