import { type ApiError, invalidParam } from './errors.ts';
import type { Mend } from './mends.ts';

/** A field that a call sent, or that it named by what it sent. */
export interface SentField {
  /** The parameter that a refusal names. */
  param: string;
  /** The name of the field in a sentence. */
  name: string;
  /** Where it was sent, for its mends. */
  path: string;
  refuse(message: string, details?: Record<string, unknown>, mends?: readonly Mend[]): ApiError;
}

/**
 * A field of the call itself, by its full name, such as `steps[1].model`.
 * @param path where it was sent, if it is named otherwise.
 */
export function sentAs(param: string, path = param): SentField {
  return {
    ...{ param, name: param, path },
    refuse: (message, details, mends) => invalidParam(param, message, details, mends),
  };
}

/**
 * Mends of a part of the call as mends of the call. A new name is beside the old one, wherever that was sent.
 * @param at a field of the part.
 */
export function mendsAt(mends: readonly Mend[], at: (param: string) => SentField): Mend[] {
  return mends.map((mend) => {
    const param = at(mend.param).path;
    if (!('rename' in mend)) return { ...mend, param };
    return { param, rename: `${param.slice(0, param.length - mend.param.length)}${mend.rename}` };
  });
}
