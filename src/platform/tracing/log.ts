/** The log for parts of the service that write log lines of their own. */
export interface EventLog {
  warn(context: object, message: string): void;
  /** Logs a decision, for an operator who investigates. A test's log may lack this method. */
  debug?(context: object, message: string): void;
}
