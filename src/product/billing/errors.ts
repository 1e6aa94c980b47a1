import { ApiError } from '../../platform/http/errors/errors.ts';

/**
 * The error 402: the balance is too low.
 * @param message names what is missing and how to correct it.
 * @param topUpUrl the URL for adding credits.
 */
export function insufficientCreditError(
  message: string,
  topUpUrl: string,
  details: Record<string, unknown>,
): ApiError {
  return new ApiError('insufficient_credit', message, { details: { ...details, topUpUrl } });
}
