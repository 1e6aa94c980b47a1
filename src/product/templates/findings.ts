import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CallWarning } from '../../platform/http/hooks/warnings.ts';
import { isJsonObject } from '../../platform/values/json.ts';
import type { SizedTemplatePage, TemplateHtml } from './document.ts';
import {
  isMissingInRow,
  placeholdersWithEscapedValues,
  type TemplateRow,
  variableNamesIn,
} from './placeholders.ts';
import { optionalVariableNames, variableNameOf } from './schema.ts';

/**
 * The warnings about a page before it is drawn. A page of many names takes tens of milliseconds, so other calls have
 * their turns between the parts.
 * @param html the page, filled with the row.
 * @param missingAssets ids of assets that the page names and that do not exist.
 */
export async function findPageWarnings(
  page: SizedTemplatePage,
  row: TemplateRow,
  html: string,
  missingAssets: readonly string[],
): Promise<CallWarning[]> {
  const ofVariables = variableWarnings(page, row);
  await nextTurn();
  const ofStyles = escapedInCssWarnings(page, row);
  await nextTurn();
  return [
    ...ofVariables,
    ...ofStyles,
    ...blockedUrlWarnings(html),
    ...missingAssets.map((name) => ({ code: 'missing_asset', name })),
  ];
}

/** The names in a row that no placeholder uses, and the placeholders that are left empty without being optional. */
export function variableWarnings(
  { html, css, variables }: Pick<SizedTemplatePage, 'html' | 'css' | 'variables'>,
  row: TemplateRow,
): CallWarning[] {
  const placeholders = variableNamesIn(html, css);
  const known = new KnownNames([...variables.map(variableNameOf), ...placeholders]);
  const unknown = unknownNames(row, known).map((name) => ({ code: 'unknown_variable', name }));
  const byEmptiness = Map.groupBy(placeholders, (name) => isMissingInRow(row, name));
  const filled = lastOfSeries(byEmptiness.get(false) ?? []);
  const optional = new Set(optionalVariableNames(variables));
  const empty = (byEmptiness.get(true) ?? [])
    .filter((name) => !optional.has(name) && !isUnusedOfSeries(name, filled))
    .map((name) => ({ code: 'empty_variable', name }));
  return [...unknown, ...empty];
}

/** The highest number of each series among some names, by its stem. */
function lastOfSeries(names: readonly string[]): ReadonlyMap<string, number> {
  const last = new Map<string, number>();
  for (const [stem, number] of names.map(numbered))
    last.set(stem, Math.max(number, last.get(stem) ?? number));
  return last;
}

/**
 * Whether a placeholder such as `image7` belongs to the unused end of a numbered series. A row may fill only the first
 * ones of a series.
 */
function isUnusedOfSeries(name: string, filled: ReadonlyMap<string, number>): boolean {
  const [stem, number] = numbered(name);
  return number >= 2 && (filled.get(stem) ?? number) <= number;
}

/** A name split into stem and number: `image7` is `['image', 7]`; a name without a number has -1. */
function numbered(name: string): readonly [stem: string, number: number] {
  let stemEnd = name.length;
  while (isDigit(name.charCodeAt(stemEnd - 1))) stemEnd -= 1;
  return [name.slice(0, stemEnd), stemEnd === name.length ? -1 : Number(name.slice(stemEnd))];
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** The names of a page. Both they and the names of a row may be tens of thousands. */
class KnownNames {
  readonly #names: ReadonlySet<string>;
  /** The names of nested data, sorted. */
  readonly #nested: readonly string[];

  constructor(names: readonly string[]) {
    this.#names = new Set(names);
    this.#nested = [...this.#names].filter((name) => name.includes('.')).sort();
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Whether a name leads to data within the data of this one. */
  leadsThrough(name: string): boolean {
    const beginning = `${name}.`;
    let [low, high] = [0, this.#nested.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#nested[middle] as string) < beginning) low = middle + 1;
      else high = middle;
    }
    return this.#nested[low]?.startsWith(beginning) ?? false;
  }
}

function unknownNames(row: TemplateRow, known: KnownNames, within = '', found: string[] = []): string[] {
  for (const [key, value] of Object.entries(row)) {
    const name = `${within}${key}`;
    if (known.has(name)) continue;
    if (!known.leadsThrough(name)) found.push(name);
    else if (isJsonObject(value)) unknownNames(value, known, `${name}.`, found);
  }
  return found;
}

const STYLE_ELEMENT = /<style\b[^<>]*>(.*?)(?:<\/style|$)/gis;
const STYLE_ATTRIBUTE = /\sstyle\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/gi;

/**
 * Warnings about placeholders in a template's styles whose values HTML escaping changes. A style sheet does not undo
 * the escaping, so a font name in quotes, for example, is not found; in an attribute, quotes in the value may end the
 * attribute.
 */
export function escapedInCssWarnings({ html, css }: TemplateHtml, row: TemplateRow): CallWarning[] {
  if (placeholdersWithEscapedValues(html + css, row).length === 0) return [];
  const inElements = Array.from(html.matchAll(STYLE_ELEMENT), valueIn);
  const styles = [css, ...inElements, ...attributeValues(html, STYLE_ATTRIBUTE)];
  const names = styles.flatMap((style) => placeholdersWithEscapedValues(style, row));
  return [...new Set(names)].map((name) => ({ code: 'escaped_in_css', name }));
}

/**
 * Matches a tag without brackets inside. Otherwise the search for the end of each tag could run to the end of the page.
 */
const TAG = /<[a-z][^<>]*>/gi;
const LOADING_ATTRIBUTE =
  /\s(?:src|srcset|poster|background|data|xlink:href|href)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/gi;
/** Matches tags whose href is a link for readers, which the page does not load. */
const LINKS_ONLY = /^<(a|area|base)\b/i;
const CSS_URL = /url\(\s*(?:"([^"]*)"|'([^']*)'|([^)"'\s]+))|@import\s+(?:"([^"]*)"|'([^']*)')/gi;
/** The schemes that a page may load, and `about`, which loads nothing. */
const ALLOWED_SCHEMES = ['data', 'asset', 'about'];

/**
 * Warnings about the schemes of URLs that a filled page names but may not load. They are searched in tags and styles,
 * not in the visible text of the page.
 * @param html the document, with the addresses of the account's own assets as `asset://`.
 */
export function blockedUrlWarnings(html: string): CallWarning[] {
  const inTags = attributeValues(html, LOADING_ATTRIBUTE, LINKS_ONLY);
  const inStyles = Array.from(html.matchAll(CSS_URL), valueIn);
  const schemes = [...inTags, ...inStyles].flatMap((address) => {
    const scheme = schemeOf(address);
    return scheme === null || ALLOWED_SCHEMES.includes(scheme) ? [] : [scheme];
  });
  return [...new Set(schemes)].map((name) => ({ code: 'blocked_resource', name }));
}

/** The values of some attributes in all tags of a page, but not in those that `ignored` matches. */
function attributeValues(html: string, attributes: RegExp, ignored?: RegExp): string[] {
  const values: string[] = [];
  for (const [tag] of html.matchAll(TAG)) {
    // A page may have 50,000 tags, and a search for attributes takes longer than the search for the tag.
    if (!tag.includes('=') || ignored?.test(tag)) continue;
    for (const attribute of tag.matchAll(attributes)) values.push(valueIn(attribute));
  }
  return values;
}

/** The value of the only group that took part in a match. */
function valueIn([, ...values]: RegExpMatchArray): string {
  return (values.find((value) => value !== undefined) ?? '').trim();
}

/**
 * The scheme of a URL: `relative` for one without a scheme; null for an empty URL, and for a fragment of the page
 * itself.
 */
function schemeOf(address: string): string | null {
  if (address === '' || address.startsWith('#')) return null;
  if (address.startsWith('//')) return 'https';
  return /^([a-z][a-z0-9+.-]*):/i.exec(address)?.[1]?.toLowerCase() ?? 'relative';
}
