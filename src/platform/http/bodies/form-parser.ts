import type { EventEmitter } from 'node:events';
import type { BusboyInstance } from '@fastify/busboy';

/** The headers of a part, by lower-case name. Each character of a value stands for one byte. */
type PartHeaders = Record<string, string[]>;

/** The internal parser of parts in busboy, which the types of busboy do not declare. */
interface PartParser extends EventEmitter<{ part: [part: EventEmitter<{ header: [PartHeaders] }>] }> {
  /** The search for boundaries. It ends after `maxMatches` of them. */
  _bparser?: { maxMatches: number };
}

function partParserOf(parser: BusboyInstance): PartParser {
  return (parser as unknown as { _parser: { parser: PartParser } })._parser.parser;
}

/**
 * Makes a parser skip everything that it has not parsed yet. Otherwise it would make a stream for each of the hundreds
 * of parts that a chunk may contain, even if the body is refused.
 */
export function stopParsing(parser: BusboyInstance): void {
  const { _bparser: search } = partParserOf(parser);
  if (search !== undefined) search.maxMatches = 0;
}

/**
 * The longest header that is rewritten. In a longer one, the file keeps the name that busboy reads. The longest valid
 * file name takes a quarter of this size.
 */
const MAX_REWRITTEN_HEADER_CHARACTERS = 8_192;
const DISPOSITION_PARAMETER_PATTERN = /;\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;"]*)/g;
const EXTENDED_VALUE_PATTERN = /^([\w-]+)'[\w-]*'((?:[\w!#$&+.^`|~*'()@,:/-]|%[0-9a-f]{2})*)$/i;
const ENCODED_WORDS_PATTERN = /^(?:\s*=\?[\w-]+\?[bq]\?[^\s?]*\?=)+$/i;
const ENCODED_WORD_PATTERN = /\s*=\?([\w-]+)\?([bq])\?([^\s?]*)\?=/gi;

/**
 * Makes the parser read the full name of a file: `filename*` (RFC 8187) takes precedence over `filename` in either
 * order, and encoded words (RFC 2047), which .NET sends, are decoded. The parser alone would take the first or the last
 * name.
 */
export function keepFullFileNames(parser: BusboyInstance): void {
  partParserOf(parser).on('part', (part) => {
    part.prependListener('header', (headers) => {
      const [disposition] = headers['content-disposition'] ?? [];
      if (disposition !== undefined) headers['content-disposition'] = [withFullFileName(disposition)];
    });
  });
}

/** A Content-Disposition with one file name: the full name, if there are several. */
export function withFullFileName(disposition: string): string {
  const isCandidate =
    disposition.length <= MAX_REWRITTEN_HEADER_CHARACTERS && /filename\s*\*|=\?/i.test(disposition);
  if (!isCandidate) return disposition;
  const parameterNamed = (wanted: string) =>
    [...disposition.matchAll(DISPOSITION_PARAMETER_PATTERN)].find(
      ([, name = '']) => name.toLowerCase() === wanted,
    )?.[2];
  const name =
    decodeExtendedValue(parameterNamed('filename*')) ?? decodeEncodedWords(parameterNamed('filename'));
  const rest = disposition.replace(DISPOSITION_PARAMETER_PATTERN, (parameter, key: string) => {
    const isDropped = /^filename\*$/i.test(key) || (name !== null && /^filename$/i.test(key));
    return isDropped ? '' : parameter;
  });
  return name === null ? rest : `${rest}; filename*=UTF-8''${encodeURIComponent(name)}`;
}

/** The text of an extended value, `charset'language'percent-encoded`; null for a value of another form. */
function decodeExtendedValue(value: string | undefined): string | null {
  const [, charset = '', encoded] =
    EXTENDED_VALUE_PATTERN.exec((value ?? '').trim().replace(/^"(.*)"$/, '$1')) ?? [];
  return encoded === undefined ? null : decodeFileName(decodeHexBytes(encoded, '%'), charset);
}

/** The text of encoded words (RFC 2047); null for other text. */
function decodeEncodedWords(value: string | undefined): string | null {
  const words = (value ?? '').trim().replace(/^"(.*)"$/, '$1');
  if (!ENCODED_WORDS_PATTERN.test(words)) return null;
  const texts = [...words.matchAll(ENCODED_WORD_PATTERN)].map(([, charset = '', kind = '', text = '']) => {
    const isBase64 = kind.toLowerCase() === 'b';
    const bytes = isBase64 ? Buffer.from(text, 'base64') : decodeHexBytes(text.replaceAll('_', ' '), '=');
    return decodeFileName(bytes, charset);
  });
  return texts.includes(null) ? null : texts.join('');
}

/**
 * Decodes bytes that are written as two hexadecimal digits after a sign: `%` in percent-encoding, `=` in encoded words.
 */
function decodeHexBytes(text: string, sign: '%' | '='): Buffer {
  const hex = new RegExp(`${sign}([0-9a-f]{2})`, 'gi');
  return Buffer.from(
    text.replace(hex, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16))),
    'latin1',
  );
}

/**
 * Decodes a file name and removes line breaks. Null for an empty name, an unknown charset, and bytes that are invalid
 * in the charset.
 */
function decodeFileName(bytes: Buffer, charset: string): string | null {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes).replace(/[\r\n]/g, '') || null;
  } catch {
    return null;
  }
}
