import { readFileSync } from 'node:fs';
import { type Static, Type } from '@sinclair/typebox';
import type { FastifyReply } from 'fastify';
import { parsePage } from '../../pages/parse.ts';

/** The codes of warnings. The set is closed. */
export const WARNING_CODES = [
  'ignored_parameter',
  'did_you_mean',
  'clamped',
  'no_effect',
  'not_enlarged',
  'enlarge_ignored',
  'border_cut',
  'resize_shadowed',
  'format_shadowed',
  'metadata_dropped',
  'alpha_lost',
  'frames_lost',
  'pages_lost',
  'text_cut',
  'layer_cut',
  'layer_outside',
  'page_text_cut',
  'larger_than_input',
  'search_cut_short',
  'format_not_tried',
  'low_quality',
  'first_frame_compared',
  'missing_glyph',
  'font_replaced',
  'unknown_parameter',
  'unknown_collection',
  'unknown_variable',
  'empty_variable',
  'escaped_in_css',
  'blocked_resource',
  'missing_asset',
  'sandbox_model',
  'more',
] as const;
export type WarningCode = (typeof WARNING_CODES)[number];

/** The page of all warnings. Its table has a row for each code: an example, what happened, and what to do. */
export const WARNINGS_PAGE = parsePage(readFileSync(new URL('./warnings.md', import.meta.url), 'utf8'));

/**
 * A warning for the caller of a call that succeeded. `name` is its subject, such as a field, a variable or an asset,
 * and `value` the suggested value of the parameter in `name`.
 */
export const CallWarning = Type.Object({
  code: Type.Unsafe<WarningCode>(Type.String()),
  name: Type.Optional(Type.String()),
  value: Type.Optional(Type.String()),
});
export type CallWarning = Static<typeof CallWarning>;

/** One warning with this code for each name. */
export function warningPerName(code: WarningCode, names: readonly string[]): CallWarning[] {
  return names.map((name) => ({ code, name }));
}

/** The most characters of the header `X-Service-Warnings`. */
const MAX_WARNINGS_HEADER_CHARACTERS = 1_000;
/** The number of characters that are reserved for `,more:` and a number. */
const MORE_ENTRY_CHARACTERS = 16;

/** The warnings that a response has so far. */
const warningsOfReplies = new WeakMap<FastifyReply, readonly CallWarning[]>();

/** Adds warnings to a response, in the header `X-Service-Warnings`. */
export function addWarnings(reply: FastifyReply, warnings: readonly CallWarning[]): void {
  if (warnings.length === 0) return;
  const all = [...(warningsOfReplies.get(reply) ?? []), ...warnings];
  warningsOfReplies.set(reply, all);
  reply.header('x-service-warnings', warningsText(all));
}

/**
 * Warnings as a comma-separated list of `code`, `code:name` or `code:name=value`, each once. Names and values are
 * percent-encoded. Warnings beyond 1,000 characters are replaced by a last entry `more:<count>`.
 */
export function warningsText(warnings: readonly CallWarning[]): string {
  // There may be tens of thousands of warnings, of which only a few are written.
  const distinct = [...new Map(warnings.map((warning) => [warningIdentityOf(warning), warning])).values()];
  let text = '';
  for (const [index, warning] of distinct.entries()) {
    const next = `${text}${text === '' ? '' : ','}${warningText(warning)}`;
    const isLast = index === distinct.length - 1;
    if (next.length > MAX_WARNINGS_HEADER_CHARACTERS - (isLast ? 0 : MORE_ENTRY_CHARACTERS)) {
      const more = `more:${distinct.length - index}`;
      return text === '' ? more : `${text},${more}`;
    }
    text = next;
  }
  return text;
}

function warningIdentityOf({ code, name, value }: CallWarning): string {
  return `${code}\n${name}\n${value}`;
}

function warningText({ code, name, value }: CallWarning): string {
  if (name === undefined) return code;
  return `${code}:${percentEncode(name)}${value === undefined ? '' : `=${percentEncode(value)}`}`;
}

/** Escapes all but the unreserved characters of RFC 3986. */
function percentEncode(name: string): string {
  return encodeURIComponent(name.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * The smallest and the largest value of a field with the schema keyword `clamped`. Values outside are replaced by the
 * nearer bound.
 */
export type ClampBounds = readonly [min: number, max: number];

export function clamp([min, max]: ClampBounds, value: number): number {
  return Math.min(Math.max(value, min), max);
}
