/** The terms of a plan that billing needs. */
export interface PlanTerms {
  id: string;
  /** Runs a billing period (a calendar month, UTC); -1 is unlimited. */
  processLimit: number;
  /** Credits of a run past the limit; null for plans without one. */
  overageCredits: number | null;
  retentionDays: number;
}
