/**
 * Converts tag values to plain JSON within limits. A file may carry megabytes under one name. It may also have names
 * that mean something in JavaScript or in a document store.
 */

const MAX_TEXT_CHARACTERS = 4_000;
/** The longest list that is reported. Longer lists are internal tables of the file or binary data, not facts. */
const MAX_LIST_ENTRIES = 64;
const MAX_TAG_DEPTH = 6;
const MAX_NAME_CHARACTERS = 128;

export type PlainTagValue = string | number | boolean | PlainTagValue[] | { [name: string]: PlainTagValue };

/** The number of JSON characters that the tags of a file may still take. */
interface TagBudget {
  leftCharacters: number;
}

/**
 * The tags of one group as plain values. Tags that are binary, empty, too deep, badly named or past the budget are left
 * out. A long text is cut.
 */
export function plainTagsOf(
  tags: Iterable<readonly [string, unknown]>,
  budget: TagBudget,
): Record<string, PlainTagValue> {
  const plain: Record<string, PlainTagValue> = {};
  for (const [name, value] of tags) {
    if (!isSafeName(name)) continue;
    const plainValue = toPlainValue(value, 0);
    if (plainValue === undefined) continue;
    const characters = JSON.stringify([name, plainValue]).length;
    if (characters > budget.leftCharacters) continue;
    budget.leftCharacters -= characters;
    plain[name] = plainValue;
  }
  return plain;
}

/**
 * Whether a name is safe: it is no property of Object.prototype, no operator of a document store, and has no control
 * characters.
 */
function isSafeName(name: string): boolean {
  return (
    name !== '' &&
    name.length <= MAX_NAME_CHARACTERS &&
    !(name in Object.prototype) &&
    !name.startsWith('$') &&
    !/\p{Cc}/u.test(name)
  );
}

function toPlainValue(value: unknown, depth: number): PlainTagValue | undefined {
  if (typeof value === 'string') return toPlainText(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value === 'boolean') return value;
  if (depth === MAX_TAG_DEPTH || ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return undefined;
  if (Array.isArray(value)) return toPlainList(value, depth);
  return typeof value === 'object' && value !== null ? toPlainObject(value, depth) : undefined;
}

/** The text up to the first NUL, trimmed and cut to the largest length; undefined if nothing is left. */
function toPlainText(value: string): string | undefined {
  const text = value.split('\0', 1)[0]?.trim().slice(0, MAX_TEXT_CHARACTERS).toWellFormed() ?? '';
  return text === '' ? undefined : text;
}

function toPlainList(values: unknown[], depth: number): PlainTagValue[] | undefined {
  if (values.length === 0 || values.length > MAX_LIST_ENTRIES) return undefined;
  const list = values.map((value) => toPlainValue(value, depth + 1));
  return list.every((value) => value !== undefined) ? list : undefined;
}

function toPlainObject(value: object, depth: number): PlainTagValue | undefined {
  const entries = Object.entries(value)
    .filter(([name]) => isSafeName(name))
    .map(([name, inner]) => [name, toPlainValue(inner, depth + 1)] as const)
    .filter((entry): entry is readonly [string, PlainTagValue] => entry[1] !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/**
 * EXIF text that names its own encoding (EXIF 3.0, UserComment): eight bytes for the code, then the text. GPS has two
 * fields of the same form.
 */

const ENCODING_CODE_BYTES = 8;
const ESCAPE_BYTE = 0x1b;
const UTF16_BE = 'utf-16be';
const UTF16_LE = 'utf-16le';
/** Control characters other than tabs and line ends. Text never has them. */
const CONTROL_CHARACTER = /[^\P{Cc}\t\r\n]/u;

/**
 * Decodes text that names its own encoding.
 * @param littleEndian whether the TIFF structure around the text is little-endian.
 * @returns undefined for bytes that are not text.
 */
export function decodeExifText(bytes: Uint8Array, littleEndian: boolean): string | undefined {
  const code = Buffer.from(bytes.subarray(0, ENCODING_CODE_BYTES))
    .toString('latin1')
    .replace(/\0+$/, '')
    .toUpperCase();
  const body = bytes.subarray(ENCODING_CODE_BYTES);
  if (code === 'UNICODE') return new TextDecoder(utf16EncodingOf(body, littleEndian)).decode(body);
  // The text is JIS X 0208 with escape sequences. Some programs write Shift JIS instead.
  const isJis = body.includes(ESCAPE_BYTE) || body.every((byte) => byte < 0x80);
  if (code === 'JIS') return new TextDecoder(isJis ? 'iso-2022-jp' : 'shift_jis').decode(body);
  // Some programs write no code. The text then begins at the first byte.
  return decodeSingleBytes(code === 'ASCII' || code === '' ? body : bytes);
}

/**
 * The encoding of UTF-16 text. Writers use either byte order, whatever the order of the TIFF structure is. Without a
 * byte order mark, the order with fewer different high bytes is chosen: the high bytes of Latin letters are 0, and
 * those of any other script have few values.
 */
function utf16EncodingOf(text: Uint8Array, littleEndian: boolean): string {
  const mark = text.length < 2 ? 0 : ((text[0] as number) << 8) | (text[1] as number);
  if (mark === 0xfeff) return UTF16_BE;
  if (mark === 0xfffe) return UTF16_LE;
  const [first, second] = [distinctByteCountIn(text, 0), distinctByteCountIn(text, 1)];
  if (first === second) return littleEndian ? UTF16_LE : UTF16_BE;
  return first < second ? UTF16_BE : UTF16_LE;
}

/**
 * The number of different values other than 0 among every second byte.
 * @param from offset of the first of these bytes.
 */
function distinctByteCountIn(text: Uint8Array, from: 0 | 1): number {
  return new Set(text.filter((byte, at) => byte !== 0 && at % 2 === from)).size;
}

/** Decodes text with one byte per character, or UTF-8. */
function decodeSingleBytes(text: Uint8Array): string | undefined {
  const bytes = Buffer.from(text);
  const end = bytes.indexOf(0);
  const body = end === -1 ? bytes : bytes.subarray(0, end);
  const utf8 = body.toString('utf8');
  const read = utf8.includes('\uFFFD') ? body.toString('latin1') : utf8;
  return CONTROL_CHARACTER.test(read) ? undefined : read;
}
