import { ApiError } from '../../platform/http/errors/errors.ts';

/**
 * 402: the balance does not cover what was asked.
 * @param message names what is missing and how to correct it.
 * @param topUpUrl the URL for adding credits.
 */
export function insufficientCredit(
  message: string,
  topUpUrl: string,
  details: Record<string, unknown>,
): ApiError {
  return new ApiError('insufficient_credit', message, { details: { ...details, topUpUrl } });
}
