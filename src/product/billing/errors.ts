import { ApiError } from '../../platform/http/errors.ts';

/**
 * 402: the balance does not cover what was asked.
 * @param message says what is missing and how to mend it.
 * @param topUpUrl where credits are added.
 */
export function insufficientCredit(
  message: string,
  topUpUrl: string,
  details: Record<string, unknown>,
): ApiError {
  return new ApiError('insufficient_credit', message, { details: { ...details, topUpUrl } });
}
