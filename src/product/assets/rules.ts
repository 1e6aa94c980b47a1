import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { hasMoreCharacters } from '../../platform/http/fields.ts';
import { DEFAULT_LINK_LIFE_SECONDS } from './limits.ts';
import { type AssetLinkQuery, MAX_ASSET_NAME_CHARACTERS } from './schema.ts';

const MAX_COLLECTION_CHARACTERS = 64;
const CONTROL_CHARACTER_PATTERN = /\p{Cc}/u;
const ALL_CONTROL_CHARACTERS_PATTERN = /\p{Cc}/gu;

/**
 * Checks the name of a collection.
 * @param param the name of the parameter in the call.
 * @throws ApiError invalid_param
 */
export function checkCollectionName(name: string, param: 'collection' | 'name' | 'from.collection'): string {
  const isTrimmedAndShort =
    name !== '' && !hasMoreCharacters(name, MAX_COLLECTION_CHARACTERS) && name === name.trim();
  if (isTrimmedAndShort && !CONTROL_CHARACTER_PATTERN.test(name)) return name;
  const message = `The name of a collection is 1 to ${MAX_COLLECTION_CHARACTERS} characters, without control characters and without a space at either end.`;
  throw invalidParamError(param, message);
}

/** The name of an asset: the one that the caller sent, else the name of its file. Null without either. */
export function assetNameOrNull(requestedName: string | undefined, filename: string | null): string | null {
  for (const name of [requestedName, filename]) {
    const clean = (name ?? '').replace(ALL_CONTROL_CHARACTERS_PATTERN, '').trim();
    if (clean !== '') return [...clean].slice(0, MAX_ASSET_NAME_CHARACTERS).join('');
  }
  return null;
}

export function linkExpiry({ expiresIn, expiresInSeconds = expiresIn }: AssetLinkQuery, now: Date): Date {
  return new Date(now.getTime() + (expiresInSeconds ?? DEFAULT_LINK_LIFE_SECONDS) * 1000);
}

/** The last segment of a URL's path, decoded; null when the path has none. */
export function filenameInUrl(url: string): string | null {
  const last = URL.parse(url)?.pathname.split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(last) || null;
  } catch {
    return last;
  }
}
