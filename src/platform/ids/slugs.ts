/**
 * Slugs: the readable names of templates and presets, unique within an account, and references to them.
 * A slug never holds `_` or `@`, so it is never mistaken for an id (`tpl_…`) or for a version (`slug@2`).
 */

/** The prefix of built-ins, which ship with the service. */
const BUILT_IN_PREFIX = 'builtin-';

/** The most characters of a slug, whether it was sent or derived from a name. */
export const MAX_SLUG_CHARACTERS = 100;

/** The pattern of a slug, for JSON schemas: lowercase letters, digits, hyphens. */
export const SLUG_PATTERN = '^[a-z0-9-]+$';

const SLUG_REGEX = new RegExp(SLUG_PATTERN);

/**
 * Fixed words of routes in the position of an id or a slug: `/presets/import`. A resource with such a slug would be
 * unreachable.
 */
export const RESERVED_ROUTE_WORDS: ReadonlySet<string> = new Set(['import']);

/** The ASCII spelling of Latin letters that Unicode does not decompose. */
const ASCII_SPELLINGS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
};

/** Number of characters reserved for the suffix of a taken slug, so that every candidate has the same stem. */
const SLUG_SUFFIX_CHARACTERS = 5;

/** Whether a text is a slug: lowercase letters, digits and hyphens. A reserved slug is well formed too. */
export function isSlug(text: string, maxCharacters = MAX_SLUG_CHARACTERS): boolean {
  return text.length <= maxCharacters && SLUG_REGEX.test(text);
}

/** Whether no account may have this slug, because it is reserved for built-ins or is a fixed word of a route. */
export function isReservedSlug(slug: string): boolean {
  return isBuiltInReference(slug) || RESERVED_ROUTE_WORDS.has(slug);
}

/** Whether an id or a slug is that of a built-in. */
export function isBuiltInReference(idOrSlug: string): boolean {
  return idOrSlug.startsWith(BUILT_IN_PREFIX);
}

/**
 * Checks that a slug is not reserved; the schema checks its form.
 * @param kind the plural name of the resources, such as `presets`.
 * @returns the error message; null when the slug can be used.
 */
export function reservedSlugMessage(slug: string, kind: string): string | null {
  if (RESERVED_ROUTE_WORDS.has(slug))
    return `slug must not be "${slug}", which is the name of a route: choose another.`;
  if (!isReservedSlug(slug)) return null;
  return `slug must not begin with "${BUILT_IN_PREFIX}", which is kept for built-in ${kind}.`;
}

/**
 * Derives a slug from a name. Letters with accents become ASCII letters (`Größe élan` becomes `grosse-elan`), and every
 * other run of characters becomes one hyphen. A leading `builtin` is removed, because the prefix is reserved. A name
 * without usable characters returns `fallback`, and a fixed word of a route gets a number.
 */
export function slugFromName(name: string, fallback: string): string {
  const stem = name
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .toLowerCase()
    .replace(/[ßæœøłđðþı]/g, (letter) => ASCII_SPELLINGS[letter] ?? '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .replace(/^(?:builtin(?:-|$))+/, '')
    .slice(0, MAX_SLUG_CHARACTERS - SLUG_SUFFIX_CHARACTERS)
    .replace(/-+$/, '');
  if (stem === '') return fallback;
  return RESERVED_ROUTE_WORDS.has(stem) ? `${stem}-2` : stem;
}

/** The first of `slug`, `slug-2`, `slug-3`, … that is not taken. A long slug is cut to make room for the number. */
export function firstFreeSlug(slug: string, taken: ReadonlySet<string>): string {
  const stem = slug.slice(0, MAX_SLUG_CHARACTERS - SLUG_SUFFIX_CHARACTERS);
  let candidate = slug;
  for (let number = 2; taken.has(candidate); number++) candidate = `${stem}-${number}`;
  return candidate;
}

/** The reference of a caller to a template or a preset: an id or a slug, and the version, if given. */
export interface VersionedReference {
  idOrSlug: string;
  version?: number;
}

/**
 * Parses `<id or slug>` or `<id or slug>@<version>`. Null when the text after the `@` is not a positive whole number. A
 * number above the largest safe integer becomes that integer, which no version reaches.
 */
export function parseVersionedReference(text: string): VersionedReference | null {
  const at = text.indexOf('@');
  if (at === -1) return { idOrSlug: text };
  const version = parseVersion(text.slice(at + 1));
  return version === null ? null : { idOrSlug: text.slice(0, at), version };
}

/** Parses a version as `parseVersionedReference` does. Null when the text is not a positive whole number. */
export function parseVersion(text: string): number | null {
  return /^0*[1-9][0-9]*$/.test(text) ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : null;
}
