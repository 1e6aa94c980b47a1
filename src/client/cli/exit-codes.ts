import { DarkroomError } from '../errors.ts';

/** The exit codes. A calling program can tell from them what happened. */
export const EXIT_CODES = {
  done: 0,
  /** Something outside of the call failed, such as a full disk. */
  broken: 1,
  /** The arguments are wrong, and nothing was sent. */
  usage: 2,
  /** The service refused the call. It would refuse the same call again. */
  refused: 3,
  /** The account has too few credits, or no room for more assets. */
  credits: 4,
  /** The call failed, but may succeed later. */
  later: 5,
} as const;

/** Thrown for wrong arguments. The message says how to correct them. */
export class UsageError extends Error {
  override name = 'UsageError';
}

const CREDIT_ERROR_CODES = ['insufficient_credit', 'asset_count_exceeded'];

export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError || isParseError(error)) return EXIT_CODES.usage;
  return error instanceof DarkroomError ? exitCodeOfFailure(error) : EXIT_CODES.broken;
}

/** The exit code for a failed call, or for a job or an item that failed with this error code. */
export function exitCodeOfFailure({ code, retryable }: { code?: string; retryable?: boolean }): number {
  if (retryable) return EXIT_CODES.later;
  return CREDIT_ERROR_CODES.includes(code ?? '') ? EXIT_CODES.credits : EXIT_CODES.refused;
}

/** Whether an error comes from `parseArgs`, because the arguments are wrong. */
function isParseError(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && code.startsWith('ERR_PARSE_ARGS_');
}
