import type { Warning } from '../../platform/http/hooks/warnings.ts';
import { isObject } from '../../platform/names/json.ts';
import { isEmpty, type Row, variablesOf } from './placeholders.ts';

/** The fields of a template that are checked. */
interface Source {
  html: string;
  css: string;
  variables: readonly string[];
}

/** Names of a row that fill nothing of the template, and placeholders that the row leaves empty. */
export function variableWarnings({ html, css, variables }: Source, row: Row): Warning[] {
  const placeholders = variablesOf(html, css);
  const known = [...new Set([...variables, ...placeholders])];
  const unknown = unknownNames(row, known, '').map((name) => ({ code: 'unknown_variable', name }));
  const filled = placeholders.filter((name) => !isEmpty(row, name));
  const empty = placeholders
    .filter((name) => isEmpty(row, name) && !isUnusedOfSeries(name, filled))
    .map((name) => ({ code: 'empty_variable', name }));
  return [...unknown, ...empty];
}

/** `image7`, where no later image is filled: a series of numbered placeholders may be filled as far as it is needed. */
function isUnusedOfSeries(name: string, filled: readonly string[]): boolean {
  const [stem, number] = numbered(name);
  if (number < 2) return false;
  return !filled.some((other) => {
    const [otherStem, otherNumber] = numbered(other);
    return otherStem === stem && otherNumber > number;
  });
}

/** `image7` is `['image', 7]`; a name without a number has -1. */
function numbered(name: string): readonly [stem: string, number: number] {
  const [, stem = name, number = '-1'] = /^(.*?)(\d+)$/.exec(name) ?? [];
  return [stem, Number(number)];
}

function unknownNames(row: Row, known: readonly string[], within: string): string[] {
  return Object.entries(row).flatMap(([key, value]) => {
    const name = `${within}${key}`;
    if (known.includes(name)) return [];
    if (!known.some((variable) => variable.startsWith(`${name}.`))) return [name];
    return isObject(value) ? unknownNames(value, known, `${name}.`) : [];
  });
}

/** Neither bracket within: without an end, each tag would otherwise be looked for up to the end of the page. */
const TAG = /<[a-z][^<>]*>/gi;
const LOADING_ATTRIBUTE =
  /\s(?:src|srcset|poster|background|data|xlink:href|href)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/gi;
/** Tags whose href is followed by a reader and loaded by nobody. */
const LINKS_ONLY = /^<(a|area|base)\b/i;
const CSS_URL = /url\(\s*(?:"([^"]*)"|'([^']*)'|([^)"'\s]+))|@import\s+(?:"([^"]*)"|'([^']*)')/gi;
/** The schemes that a page may load, and one that loads nothing. */
const ALLOWED = ['data', 'asset', 'about'];

/**
 * The schemes of what a filled page names and may not load, found in its text: an address in the text of a page is
 * none, one that only a style sheet of the browser would ask for is one all the same.
 * @param html the document, with the addresses of the account's own assets as `asset://`.
 */
export function blockedWarnings(html: string): Warning[] {
  const inTags = [...html.matchAll(TAG)]
    .filter(([tag]) => !LINKS_ONLY.test(tag))
    .flatMap(([tag]) => [...tag.matchAll(LOADING_ATTRIBUTE)].map(addressIn));
  const inStyles = [...html.matchAll(CSS_URL)].map(addressIn);
  const schemes = [...inTags, ...inStyles].flatMap((address) => {
    const scheme = schemeOf(address);
    return scheme === null || ALLOWED.includes(scheme) ? [] : [scheme];
  });
  return [...new Set(schemes)].map((name) => ({ code: 'blocked_resource', name }));
}

function addressIn([, ...values]: RegExpMatchArray): string {
  return (values.find((value) => value !== undefined) ?? '').trim();
}

/** `relative` for an address without one; null for none at all, and for a part of the page itself. */
function schemeOf(address: string): string | null {
  if (address === '' || address.startsWith('#')) return null;
  if (address.startsWith('//')) return 'https';
  return /^([a-z][a-z0-9+.-]*):/i.exec(address)?.[1]?.toLowerCase() ?? 'relative';
}
