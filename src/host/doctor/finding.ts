/** The result of one check of the host or its services. */
export interface DoctorFinding {
  state: 'ok' | 'warning' | 'problem';
  /** The fact, in one sentence. */
  message: string;
  /** The remedy, in one sentence; null if none is needed. */
  remedy: string | null;
}

export function okFinding(message: string): DoctorFinding {
  return { state: 'ok', message, remedy: null };
}

/** A finding: the service works, but not as well as it could. */
export function warningFinding(message: string, remedy: string): DoctorFinding {
  return { state: 'warning', message, remedy };
}

/** A finding: the service does not work, or loses something. */
export function problemFinding(message: string, remedy: string): DoctorFinding {
  return { state: 'problem', message, remedy };
}

/** Returns the findings of a check, or one problem if the check itself throws. */
export async function findingsOrProblem(
  check: () => Promise<DoctorFinding[]>,
  message: (reason: string) => string,
  remedy: string,
): Promise<DoctorFinding[]> {
  try {
    return await check();
  } catch (error) {
    return [problemFinding(message(innermostMessageOf(error).replace(/\.$/, '')), remedy)];
  }
}

/** The message of the innermost cause of an error. Drivers wrap the errors of sockets. */
export function innermostMessageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError && error.errors.length > 0) return innermostMessageOf(error.errors[0]);
  return error.cause === undefined ? error.message || error.name : innermostMessageOf(error.cause);
}
