import { type ApiError, invalidParam } from './errors.ts';

/** A field that a call sent, or that it named by what it sent. */
export interface SentField {
  /** The parameter that a refusal names. */
  param: string;
  /** The name of the field in a sentence. */
  name: string;
  refuse(message: string, details?: Record<string, unknown>): ApiError;
}

/** A field of the call itself, by its full name, such as `steps[1].model`. */
export function sentAs(param: string): SentField {
  return { param, name: param, refuse: (message, details) => invalidParam(param, message, details) };
}
