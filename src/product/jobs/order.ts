import type { JobNeed } from '../billing/holds.ts';
import type { StepWarning } from '../catalogue/checks/warnings.ts';
import type { Definition } from './definitions.ts';
import { aboveMaxCredits } from './errors.ts';
import type { ItemDocument, JobDocument } from './job.ts';

/** The type of a job, and its displayed names. */
export type JobHead = Pick<
  JobDocument,
  'type' | 'op' | 'model' | 'collection' | 'presetId' | 'presetName' | 'presetVersion'
>;

/** An item before it has a job. */
export type ItemSeed = Pick<
  ItemDocument,
  'rootIndex' | 'assetId' | 'variant' | 'row' | 'progress' | 'inherits'
>;

/** A checked submit: the job, its work, and what it needs. */
export interface Order {
  head: JobHead;
  definition: Definition;
  totalItems: number;
  need: JobNeed;
  /** Largest number of assets that it can make. */
  maxOutputs: number;
  /** Iterates over the items in order. Each call starts a new iteration. */
  seeds(): Iterable<ItemSeed>;
  warnings: StepWarning[];
  /** The caller's own limit on the price, in credits; absent without one. */
  maxCredits?: number | undefined;
  /** For a resume: the items that failed permanently in the previous attempt. */
  notRetryableItems?: readonly number[];
}

/**
 * Refuses a price above the caller's own limit.
 * @throws ApiError 402 insufficient_credit
 */
export function refuseAbove({ maxCredits }: Order, price: number): void {
  if (maxCredits !== undefined && price > maxCredits) throw aboveMaxCredits(price, maxCredits);
}
