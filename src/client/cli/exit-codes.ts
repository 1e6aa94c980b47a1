import { DarkroomError } from '../errors.ts';

/** The exit codes, by which a calling program learns the outcome. */
export const EXIT_CODES = {
  done: 0,
  /** A fault outside of the call, such as a full disk. */
  broken: 1,
  /** The arguments are wrong; nothing was sent. */
  usage: 2,
  /** The service refused the call. The same call will be refused again. */
  refused: 3,
  /** The account lacks credits, or room for assets. */
  credits: 4,
  /** The exit code of a call that may succeed later. */
  later: 5,
} as const;

/** Wrong arguments. The message says how to correct them. */
export class UsageError extends Error {
  override name = 'UsageError';
}

const CREDIT_ERROR_CODES = ['insufficient_credit', 'asset_count_exceeded'];

export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError || isParseError(error)) return EXIT_CODES.usage;
  return error instanceof DarkroomError ? exitCodeOfFailure(error) : EXIT_CODES.broken;
}

/** The exit code of a failed call, or of a job or an item that failed with this code. */
export function exitCodeOfFailure({ code, retryable }: { code?: string; retryable?: boolean }): number {
  if (retryable) return EXIT_CODES.later;
  return CREDIT_ERROR_CODES.includes(code ?? '') ? EXIT_CODES.credits : EXIT_CODES.refused;
}

/** Whether parseArgs refused the arguments. */
function isParseError(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && code.startsWith('ERR_PARSE_ARGS_');
}
