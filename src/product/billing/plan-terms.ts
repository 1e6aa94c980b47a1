/** The terms of a plan that billing needs. */
export interface PlanTerms {
  id: string;
  /** Runs per billing period (a calendar month, UTC); -1 is unlimited. */
  processLimit: number;
  /** The price of a run past the limit, in credits; null for plans without a limit. */
  overageCredits: number | null;
  retentionDays: number;
}
