/** The log for parts of the service that write separate log lines. */
export interface Log {
  warn(context: object, message: string): void;
  /** Decisions, for an operator who investigates. A test's log may not have it. */
  debug?(context: object, message: string): void;
}
