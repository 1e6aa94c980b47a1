/** The result of one check of the host or its services. */
export interface Finding {
  state: 'ok' | 'warning' | 'problem';
  /** The fact, in one sentence. */
  message: string;
  /** The remedy, in one sentence; null if none is needed. */
  remedy: string | null;
}

export function ok(message: string): Finding {
  return { state: 'ok', message, remedy: null };
}

/** A finding: the service works, but not as well as it could. */
export function warning(message: string, remedy: string): Finding {
  return { state: 'warning', message, remedy };
}

/** A finding: the service does not work, or loses something. */
export function problem(message: string, remedy: string): Finding {
  return { state: 'problem', message, remedy };
}

/** Returns the findings of a check, or one problem if the check itself throws. */
export async function orProblem(
  check: () => Promise<Finding[]>,
  message: (reason: string) => string,
  remedy: string,
): Promise<Finding[]> {
  try {
    return await check();
  } catch (error) {
    return [problem(message(reasonOf(error).replace(/\.$/, '')), remedy)];
  }
}

/** The message of the innermost cause of an error. Drivers wrap the errors of sockets. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error.cause === undefined ? error.message || error.name : reasonOf(error.cause);
}
