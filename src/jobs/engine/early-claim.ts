import type { Claimed, JobDocument } from '../job.ts';

/** The claim of a new job's only item, before both are stored. The first call ends it. */
export interface EarlyClaim {
  /** As it is to be stored. */
  item: Claimed;
  /** Works on it: its job runs. */
  begin(job: JobDocument): void;
  /** Leaves it to whoever runs the job later. */
  giveBack(): Promise<void>;
  /** Forgets it: there is no job. */
  drop(): void;
}
