import { writeFileSync } from 'node:fs';

/** The score for the Linux out-of-memory killer, between 0 (the processes of the service) and 1,000. */
const SCORE = 800;

/**
 * Makes Linux end this process, and the processes that it starts later, before those of the service when memory runs
 * out. It does nothing on other systems, and for a process that has ended.
 */
export function endFirstWithoutMemory(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, String(SCORE));
  } catch {}
}
