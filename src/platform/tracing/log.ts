/** The log, as those parts see it that write lines of their own. */
export interface Log {
  warn(context: object, message: string): void;
  /** Decisions, for an operator who asks why. A log of a test may lack it. */
  debug?(context: object, message: string): void;
}
