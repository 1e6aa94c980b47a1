import { ApiError } from './errors.ts';

/** The same refusal for another parameter. An error that is not the caller's is returned unchanged. */
export function withParam(error: unknown, param: string): unknown {
  if (!(error instanceof ApiError) || error.status >= 500) return error;
  return new ApiError(error.code, error.message, { param, details: error.details });
}
