/** The result of one examination of the host or its services. */
export interface Finding {
  state: 'ok' | 'warning' | 'problem';
  /** The fact, in one sentence. */
  says: string;
  /** The remedy, in one sentence; null where none is needed. */
  mend: string | null;
}

export function ok(says: string): Finding {
  return { state: 'ok', says, mend: null };
}

/** The service works, but not as well as it could. */
export function warning(says: string, mend: string): Finding {
  return { state: 'warning', says, mend };
}

/** The service does not work, or loses something. */
export function problem(says: string, mend: string): Finding {
  return { state: 'problem', says, mend };
}

/** The findings of a check that may fail as a whole. */
export async function orProblem(
  look: () => Promise<Finding[]>,
  says: (reason: string) => string,
  mend: string,
): Promise<Finding[]> {
  try {
    return await look();
  } catch (error) {
    return [problem(says(reasonOf(error).replace(/\.$/, '')), mend)];
  }
}

/** The message of the innermost cause of an error, because drivers wrap the errors of sockets. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error.cause === undefined ? error.message || error.name : reasonOf(error.cause);
}
