import { type ApiError, invalidParamError } from './errors.ts';
import type { CallMend } from './mends.ts';

/** A field of a call: its name, and where it was sent. */
export interface SentField {
  /** The parameter that a refusal names. */
  param: string;
  /** The name of the field in a sentence. */
  name: string;
  /** Where it was sent, for its mends. */
  path: string;
  refuse(message: string, details?: Record<string, unknown>, mends?: readonly CallMend[]): ApiError;
}

/**
 * A field of the call itself, by its full name, such as `steps[1].model`.
 * @param path where it was sent, if that differs from its name.
 */
export function sentFieldAt(param: string, path = param): SentField {
  return {
    ...{ param, name: param, path },
    refuse: (message, details, mends) => invalidParamError(param, message, details, mends),
  };
}

/**
 * Converts changes of a part of the call to changes of the call. A new name is placed beside the old one, wherever the
 * old one was sent.
 * @param at finds a field of the part.
 */
export function mendsAtSentFields(mends: readonly CallMend[], at: (param: string) => SentField): CallMend[] {
  return mends.map((mend) => {
    const param = at(mend.param).path;
    if (!('rename' in mend)) return { ...mend, param };
    return { param, rename: `${param.slice(0, param.length - mend.param.length)}${mend.rename}` };
  });
}
