import { setImmediate as nextTurn } from 'node:timers/promises';
import { type CallWarning, warningPerName } from '../../platform/http/hooks/warnings.ts';
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
 * Finds what is probably wrong with a page before it is drawn. A page with many names takes tens of milliseconds, so
 * the event loop serves other calls between the steps.
 * @param html the page, filled with the row.
 * @param missingAssetIds the ids of assets that the page uses and that do not exist.
 */
export async function findPageWarnings(
  page: SizedTemplatePage,
  row: TemplateRow,
  html: string,
  missingAssetIds: readonly string[],
): Promise<CallWarning[]> {
  const ofVariables = variableWarnings(page, row);
  await nextTurn();
  const ofStyles = escapedInCssWarnings(page, row);
  await nextTurn();
  return [
    ...ofVariables,
    ...ofStyles,
    ...blockedUrlWarnings(html),
    ...warningPerName('missing_asset', missingAssetIds),
  ];
}

/**
 * Warnings about names in a row that no placeholder uses, and about placeholders that stay empty although their
 * variable is not optional.
 */
export function variableWarnings(
  { html, css, variables }: Pick<SizedTemplatePage, 'html' | 'css' | 'variables'>,
  row: TemplateRow,
): CallWarning[] {
  const placeholders = variableNamesIn(html, css);
  const known = new PlaceholderNames([...variables.map(variableNameOf), ...placeholders]);
  const byEmptiness = Map.groupBy(placeholders, (name) => isMissingInRow(row, name));
  const filledNumbers = highestNumbersByStem(byEmptiness.get(false) ?? []);
  const optional = new Set(optionalVariableNames(variables));
  const empty = (byEmptiness.get(true) ?? []).filter(
    (name) => !optional.has(name) && !isBeyondFilledSeries(name, filledNumbers),
  );
  return [
    ...warningPerName('unknown_variable', findUnknownNames(row, known)),
    ...warningPerName('empty_variable', empty),
  ];
}

/**
 * The highest number of each series of numbered names, by their common stem. The names `image1` to `image7` have the
 * stem `image` and the number 7.
 */
function highestNumbersByStem(names: readonly string[]): ReadonlyMap<string, number> {
  const highest = new Map<string, number>();
  for (const [stem, number] of names.map(splitNumberedName))
    highest.set(stem, Math.max(number, highest.get(stem) ?? number));
  return highest;
}

/**
 * Whether the name of a placeholder, such as `image7`, has a higher number than any name of its series in the row. The
 * placeholder may then stay empty.
 */
function isBeyondFilledSeries(name: string, filledNumbers: ReadonlyMap<string, number>): boolean {
  const [stem, number] = splitNumberedName(name);
  return number >= 2 && (filledNumbers.get(stem) ?? number) <= number;
}

/** Splits a name into its stem and its number: `image7` becomes `['image', 7]`. The number is -1 if there is none. */
function splitNumberedName(name: string): readonly [stem: string, number: number] {
  let stemEnd = name.length;
  while (isDigit(name.charCodeAt(stemEnd - 1))) stemEnd -= 1;
  return [name.slice(0, stemEnd), stemEnd === name.length ? -1 : Number(name.slice(stemEnd))];
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** The names of a page's placeholders, for fast look-ups. A page and a row may each have tens of thousands of names. */
class PlaceholderNames {
  readonly #names: ReadonlySet<string>;
  /** The names that contain dots, sorted. */
  readonly #nested: readonly string[];

  constructor(names: readonly string[]) {
    this.#names = new Set(names);
    this.#nested = [...this.#names].filter((name) => name.includes('.')).sort();
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Whether a placeholder reads data within the object of this name, as `{{author.name}}` does within `author`. */
  isPrefix(name: string): boolean {
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

function findUnknownNames(
  row: TemplateRow,
  known: PlaceholderNames,
  within = '',
  found: string[] = [],
): string[] {
  for (const [key, value] of Object.entries(row)) {
    const name = `${within}${key}`;
    if (known.has(name)) continue;
    if (!known.isPrefix(name)) found.push(name);
    else if (isJsonObject(value)) findUnknownNames(value, known, `${name}.`, found);
  }
  return found;
}

const STYLE_ELEMENT_PATTERN = /<style\b[^<>]*>(.*?)(?:<\/style|$)/gis;
const STYLE_ATTRIBUTE_PATTERN = /\sstyle\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/gi;

/**
 * Warnings about placeholders in styles whose values change when they are HTML-escaped. A style sheet does not undo the
 * escaping, so a quoted font name, for example, is not found. In a style attribute, a quote in the value may end the
 * attribute.
 */
export function escapedInCssWarnings({ html, css }: TemplateHtml, row: TemplateRow): CallWarning[] {
  if (placeholdersWithEscapedValues(html + css, row).length === 0) return [];
  const inElements = Array.from(html.matchAll(STYLE_ELEMENT_PATTERN), matchedValue);
  const styles = [css, ...inElements, ...attributeValues(html, STYLE_ATTRIBUTE_PATTERN)];
  const names = styles.flatMap((style) => placeholdersWithEscapedValues(style, row));
  return warningPerName('escaped_in_css', [...new Set(names)]);
}

/**
 * Matches a tag without angle brackets inside it. If they were allowed, the search for the end of a tag could run to
 * the end of the page.
 */
const TAG_PATTERN = /<[a-z][^<>]*>/gi;
const LOADING_ATTRIBUTE_PATTERN =
  /\s(?:src|srcset|poster|background|data|xlink:href|href)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/gi;
/** Matches tags in which `href` is a link to follow. Such links are not loaded when the page is drawn. */
const LINK_TAG_PATTERN = /^<(a|area|base)\b/i;
const CSS_URL_PATTERN = /url\(\s*(?:"([^"]*)"|'([^']*)'|([^)"'\s]+))|@import\s+(?:"([^"]*)"|'([^']*)')/gi;
/** The schemes of URLs that cause no warning. URLs with `about` load nothing. */
const ALLOWED_URL_SCHEMES = ['data', 'asset', 'about'];

/**
 * Warnings about the schemes of URLs that a filled page would have to load but may not. URLs are searched in tags and
 * styles, and not in the visible text.
 * @param html the document, in which the account's own assets have `asset://` URLs.
 */
export function blockedUrlWarnings(html: string): CallWarning[] {
  const inTags = attributeValues(html, LOADING_ATTRIBUTE_PATTERN, LINK_TAG_PATTERN);
  const inStyles = Array.from(html.matchAll(CSS_URL_PATTERN), matchedValue);
  const schemes = [...inTags, ...inStyles].flatMap((address) => {
    const scheme = schemeOf(address);
    return scheme === null || ALLOWED_URL_SCHEMES.includes(scheme) ? [] : [scheme];
  });
  return warningPerName('blocked_resource', [...new Set(schemes)]);
}

/** The values of attributes in all tags of a page, except in tags that `ignoredTagPattern` matches. */
function attributeValues(html: string, attributePattern: RegExp, ignoredTagPattern?: RegExp): string[] {
  const values: string[] = [];
  for (const [tag] of html.matchAll(TAG_PATTERN)) {
    // Tags without attributes are skipped, because a page may have 50,000 tags, and searching a tag for attributes is
    // slow.
    if (!tag.includes('=') || ignoredTagPattern?.test(tag)) continue;
    for (const attribute of tag.matchAll(attributePattern)) values.push(matchedValue(attribute));
  }
  return values;
}

/** The value of the group that has matched. All other groups are undefined. */
function matchedValue([, ...values]: RegExpMatchArray): string {
  return (values.find((value) => value !== undefined) ?? '').trim();
}

/** The scheme of a URL, or `relative` if it has none. Null for an empty URL, and for a fragment of the page itself. */
function schemeOf(address: string): string | null {
  if (address === '' || address.startsWith('#')) return null;
  if (address.startsWith('//')) return 'https';
  return /^([a-z][a-z0-9+.-]*):/i.exec(address)?.[1]?.toLowerCase() ?? 'relative';
}
