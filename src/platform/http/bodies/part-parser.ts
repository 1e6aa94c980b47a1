import type { EventEmitter } from 'node:events';
import type { BusboyInstance } from '@fastify/busboy';

/** The headers of a part as the parser emits them: values of one byte a character, by lower-case name. */
type PartHeaders = Record<string, string[]>;

/** What the parser of forms does not declare: its parser of parts. */
interface PartParser extends EventEmitter<{ part: [part: EventEmitter<{ header: [PartHeaders] }>] }> {
  /** The search for boundaries, which ends after so many. */
  _bparser?: { maxMatches: number };
}

export function partParserOf(parser: BusboyInstance): PartParser {
  return (parser as unknown as { _parser: { parser: PartParser } })._parser.parser;
}

/**
 * Has a parser leave out what it has not parsed yet. A chunk may hold hundreds of parts, and the parser would make a
 * stream of each although its body is refused.
 */
export function stopParsing(parser: BusboyInstance): void {
  const { _bparser: search } = partParserOf(parser);
  if (search !== undefined) search.maxMatches = 0;
}
