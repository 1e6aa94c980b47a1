import type { FastifyReply } from 'fastify';

/** A warning for the caller of a call that succeeded. */
export interface Warning {
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
const added = new WeakMap<FastifyReply, readonly Warning[]>();

/** Adds warnings to an answer, in the header `X-Service-Warnings`. */
export function addWarnings(reply: FastifyReply, warnings: readonly Warning[]): void {
  if (warnings.length === 0) return;
  const all = [...(added.get(reply) ?? []), ...warnings];
  added.set(reply, all);
  reply.header('x-service-warnings', warningsText(all));
}

/**
 * A comma-separated list of `code`, `code:name` or `code:name=value`, each once; names and values are percent-encoded.
 * Entries beyond 1,000 characters are replaced by a last entry `more:<count>`.
 */
export function warningsText(warnings: readonly Warning[]): string {
  const entries = [...new Set(warnings.map(entryOf))];
  let text = '';
  for (const [index, entry] of entries.entries()) {
    const next = text === '' ? entry : `${text},${entry}`;
    const isLast = index === entries.length - 1;
    if (next.length > MAX_HEADER_CHARACTERS - (isLast ? 0 : ROOM_FOR_MORE)) {
      const more = `more:${entries.length - index}`;
      return text === '' ? more : `${text},${more}`;
    }
    text = next;
  }
  return text;
}

function entryOf({ code, name, value }: Warning): string {
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
