import { type ApiError, invalidParam } from './errors.ts';
import type { Mend } from './mends.ts';

/** A field of a call: its name, and where it was sent. */
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
 * @param path where it was sent, if that differs from its name.
 */
export function sentAs(param: string, path = param): SentField {
  return {
    ...{ param, name: param, path },
    refuse: (message, details, mends) => invalidParam(param, message, details, mends),
  };
}

/**
 * Converts changes of a part of the call to changes of the call. A new name is placed beside the old one, wherever the
 * old one was sent.
 * @param at finds a field of the part.
 */
export function mendsAt(mends: readonly Mend[], at: (param: string) => SentField): Mend[] {
  return mends.map((mend) => {
    const param = at(mend.param).path;
    if (!('rename' in mend)) return { ...mend, param };
    return { param, rename: `${param.slice(0, param.length - mend.param.length)}${mend.rename}` };
  });
}
