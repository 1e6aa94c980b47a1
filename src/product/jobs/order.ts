import type { JobNeed } from '../billing/holds.ts';
import type { StepWarning } from '../catalogue/checks/warnings.ts';
import type { Definition } from './definitions/definition.ts';
import type { ItemDocument, JobDocument } from './job.ts';

/** The type of a job, and its names as they are shown. */
export type JobHead = Pick<
  JobDocument,
  'type' | 'op' | 'model' | 'collection' | 'presetId' | 'presetName' | 'presetVersion'
>;

/** An item before it has a job. */
export type ItemSeed = Pick<ItemDocument, 'assetId' | 'variant' | 'row' | 'progress' | 'inherits'>;

/** A job that was asked for and may be made: what it is, what it runs, and what it needs. */
export interface Order {
  head: JobHead;
  definition: Definition;
  totalItems: number;
  need: JobNeed;
  /** Assets that it will make at most. */
  places: number;
  /** The items in their order, as often as they are asked for. */
  seeds(): Iterable<ItemSeed>;
  warnings: StepWarning[];
  /** The caller's own limit on the price, in credits; absent without one. */
  maxCredits?: number | undefined;
  /** Resume: items of the attempt before that failed for a reason that does not pass. */
  notRetryableItems?: readonly number[];
}
