/** The log for parts of the service that write log lines of their own. */
export interface Log {
  warn(context: object, message: string): void;
  /** Decisions, for an operator who investigates. A test's log may not have it. */
  debug?(context: object, message: string): void;
}
