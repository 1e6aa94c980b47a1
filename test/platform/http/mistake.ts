import type { ErrorCode } from '../../../src/platform/http/errors/errors.ts';
import type { CallOptions } from '../../support/harness.ts';
import type { Call, Correction } from './wrong-calls.ts';

/** Mistakes that callers make, as data. */

/**
 * What a program finds in the answer to a mistake: the corrections that make the call pass; likely words, or calls that
 * are ready; bounds and choices; or words for a person alone. A call that is taken means the same here, or is warned
 * of.
 */
export type Aid = readonly Correction[] | 'suggest' | 'data' | 'words' | 'taken' | { warns: string };

/** A call that is sent as it stands. */
export interface RawCall {
  path: string;
  raw: CallOptions;
}

/** @param code absent: invalid_param. @param param absent: that of the first correction. */
export type Mistake = readonly [
  what: string,
  call: Call | RawCall,
  aid: Aid,
  param?: string | undefined,
  code?: ErrorCode,
];

/** What the calls are about: an account, a picture of 300 × 200, and the same as an asset. */
export interface Places {
  key: string;
  png: Uint8Array<ArrayBuffer>;
  assetId: string;
}

export const transform = (query: object): Call => ({ path: '/images/transform', query: { ...query } });
export const reference = (assetId: string, json: object): Call => ({
  path: '/images/transform',
  query: {},
  json: { assetId, ...json },
});
export const job = (json: object): Call => ({ path: '/jobs', query: {}, json: { ...json } });
export const render = (json: object): Call => ({ path: '/images/render', query: {}, json: { ...json } });
export const get = (path: string, query: object): Call => ({ method: 'GET', path, query: { ...query } });
export const post = (path: string, json: object): Call => ({
  method: 'POST',
  path,
  query: {},
  json: { ...json },
});

/** The corrections that send a call to another path. */
export const pathFix = (replace: string): readonly Correction[] => [
  { param: 'path', replace, in: 'request' },
];

/** A form with texts, and files that are pictures. */
export function formOf(parts: Record<string, string | Uint8Array<ArrayBuffer>[]>): { body: FormData } {
  const body = new FormData();
  for (const [name, part] of Object.entries(parts)) {
    if (typeof part === 'string') body.append(name, part);
    else for (const bytes of part) body.append(name, new Blob([bytes]), 'a.png');
  }
  return { body };
}
