import type { FastifyReply } from 'fastify';

/** A warning for the caller of a call that succeeded. */
export interface CallWarning {
  code: string;
  /** Its subject: a variable, an asset, a scheme. */
  name?: string;
  /** The value of a parameter that was probably meant. */
  value?: string;
}

/** Of the header in all. */
const MAX_HEADER_CHARACTERS = 1_000;
/** Room for `,more:` and a number. */
const ROOM_FOR_MORE = 16;

/** The warnings of an answer so far. */
const added = new WeakMap<FastifyReply, readonly CallWarning[]>();

/** Adds warnings to an answer, in the header `X-Service-Warnings`. */
export function addWarnings(reply: FastifyReply, warnings: readonly CallWarning[]): void {
  if (warnings.length === 0) return;
  const all = [...(added.get(reply) ?? []), ...warnings];
  added.set(reply, all);
  reply.header('x-service-warnings', warningsText(all));
}

/**
 * Warnings as a comma-separated list of `code`, `code:name` or `code:name=value`, each once. Names and values are
 * percent-encoded. Entries beyond 1,000 characters are replaced by a last entry `more:<count>`.
 */
export function warningsText(warnings: readonly CallWarning[]): string {
  // There may be tens of thousands, of which few are written.
  const distinct = [...new Map(warnings.map((warning) => [keyOf(warning), warning])).values()];
  let text = '';
  for (const [index, warning] of distinct.entries()) {
    const next = `${text}${text === '' ? '' : ','}${entryOf(warning)}`;
    const isLast = index === distinct.length - 1;
    if (next.length > MAX_HEADER_CHARACTERS - (isLast ? 0 : ROOM_FOR_MORE)) {
      const more = `more:${distinct.length - index}`;
      return text === '' ? more : `${text},${more}`;
    }
    text = next;
  }
  return text;
}

function keyOf({ code, name, value }: CallWarning): string {
  return `${code}\n${name}\n${value}`;
}

function entryOf({ code, name, value }: CallWarning): string {
  if (name === undefined) return code;
  return `${code}:${unreserved(name)}${value === undefined ? '' : `=${unreserved(value)}`}`;
}

/** Escapes all but the unreserved characters of RFC 3986. */
function unreserved(name: string): string {
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
