import type { JobNeed } from '../../billing/holds.ts';
import type { StepWarning } from '../../catalogue/checks/warnings.ts';
import type { JobDefinition } from '../definitions.ts';
import { aboveMaxCreditsError } from '../errors.ts';
import type { ItemDocument, JobDocument } from '../job.ts';

/** The type of a job, and its displayed names. */
export type JobOrderFields = Pick<
  JobDocument,
  'type' | 'op' | 'model' | 'collection' | 'presetId' | 'presetName' | 'presetVersion'
>;

/** An item before it has a job. */
export type NewItemFields = Pick<
  ItemDocument,
  'rootIndex' | 'assetId' | 'variant' | 'row' | 'progress' | 'inherits'
>;

/** A checked submit: the job, its work, and what it needs. */
export interface JobOrder {
  head: JobOrderFields;
  definition: JobDefinition;
  totalItems: number;
  need: JobNeed;
  /** Largest number of assets that it can make. */
  maxOutputs: number;
  /** Iterates over the items in order. Each call starts a new iteration. */
  seeds(): Iterable<NewItemFields>;
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
export function refusePriceAboveMax({ maxCredits }: JobOrder, price: number): void {
  if (maxCredits !== undefined && price > maxCredits) throw aboveMaxCreditsError(price, maxCredits);
}
