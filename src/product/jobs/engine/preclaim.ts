import type { Claimed, JobDocument } from '../job.ts';

/**
 * The claim of a new job's only item, which is stored with the item: the job then needs no other claim. The first call
 * of `begin`, `giveBack` and `drop` ends it.
 */
export interface Preclaim {
  /** The item as it is to be stored. */
  item: Claimed;
  /** Works on the item: its job runs. */
  begin(job: JobDocument): void;
  /** Makes the item ready in the store, for the process that runs the job later. */
  giveBack(): Promise<void>;
  /** Forgets the item: there is no job. */
  drop(): void;
}
