/**
 * Reads the name and the characters of a font from a TrueType or OpenType file, or from a collection of fonts. Only the
 * tables `name` and `cmap` are read, so that a collection of 100 MB costs as little as a small font.
 */

/** Reads `length` bytes of a file from `offset`; fewer where the file ends. */
export type ReadBytesAt = (offset: number, length: number) => Promise<Buffer>;

export interface FontFace {
  family: string;
  /** The name of the style, such as `Bold Italic`. */
  style: string;
  /** Ranges of code points, each from its first to its last. */
  ranges: Array<readonly [first: number, last: number]>;
}

const SFNT_VERSIONS = [0x00010000, 0x4f54544f, 0x74727565];
const COLLECTION_SIGNATURE = 0x74746366;
const MAX_FONT_FACES = 256;
const MAX_FONT_TABLES = 128;
const MAX_TABLE_BYTES = 8_000_000;
const MAX_CMAP_GROUPS = 200_000;
const MAX_CODE_POINT = 0x10ffff;

/**
 * The faces of a font file; none for a file of another format.
 * @throws RangeError for a file that is cut off.
 */
export async function readFontFaces(readAt: ReadBytesAt): Promise<FontFace[]> {
  const head = await readAt(0, 12);
  if (head.length < 12) return [];
  const kind = head.readUInt32BE(0);
  if (SFNT_VERSIONS.includes(kind)) return withoutNulls([await readFontFace(readAt, 0)]);
  if (kind !== COLLECTION_SIGNATURE) return [];
  const count = Math.min(head.readUInt32BE(8), MAX_FONT_FACES);
  const offsets = await readAt(12, count * 4);
  const faces: Array<FontFace | null> = [];
  for (let index = 0; index < count; index += 1)
    faces.push(await readFontFace(readAt, offsets.readUInt32BE(index * 4)));
  return withoutNulls(faces);
}

function withoutNulls(faces: Array<FontFace | null>): FontFace[] {
  return faces.filter((face) => face !== null);
}

async function readFontFace(readAt: ReadBytesAt, offset: number): Promise<FontFace | null> {
  const head = await readAt(offset, 12);
  const count = Math.min(head.readUInt16BE(4), MAX_FONT_TABLES);
  const directory = await readAt(offset + 12, count * 16);
  const table = async (tag: string): Promise<Buffer | null> => {
    for (let at = 0; at + 16 <= directory.length; at += 16) {
      if (directory.toString('latin1', at, at + 4) !== tag) continue;
      const length = Math.min(directory.readUInt32BE(at + 12), MAX_TABLE_BYTES);
      return readAt(directory.readUInt32BE(at + 8), length);
    }
    return null;
  };
  const [names, characters] = [await table('name'), await table('cmap')];
  if (names === null || characters === null) return null;
  const namesById = readNames(names);
  const family = namesById.get(TYPOGRAPHIC_FAMILY_NAME_ID) ?? namesById.get(FAMILY_NAME_ID);
  if (family === undefined) return null;
  const style = namesById.get(TYPOGRAPHIC_STYLE_NAME_ID) ?? namesById.get(STYLE_NAME_ID) ?? 'Regular';
  return { family, style, ranges: readCodePointRanges(characters) };
}

const FAMILY_NAME_ID = 1;
const STYLE_NAME_ID = 2;
const TYPOGRAPHIC_FAMILY_NAME_ID = 16;
const TYPOGRAPHIC_STYLE_NAME_ID = 17;
const READ_NAME_IDS = [FAMILY_NAME_ID, STYLE_NAME_ID, TYPOGRAPHIC_FAMILY_NAME_ID, TYPOGRAPHIC_STYLE_NAME_ID];
const WINDOWS_PLATFORM = 3;
const MACINTOSH_PLATFORM = 1;
const ENGLISH_LANGUAGE = 0x409;

/** The English texts in the table `name`, keyed by the name ID, such as 1 for the family. */
function readNames(table: Buffer): Map<number, string> {
  const [count, texts] = [table.readUInt16BE(2), table.readUInt16BE(4)];
  const names = new Map<number, string>();
  for (let index = 0, at = 6; index < count && at + 12 <= table.length; index += 1, at += 12) {
    const [platform, language, id] = [0, 4, 6].map((field) => table.readUInt16BE(at + field));
    if (id === undefined || !READ_NAME_IDS.includes(id)) continue;
    const start = texts + table.readUInt16BE(at + 10);
    const bytes = table.subarray(start, start + table.readUInt16BE(at + 8));
    if (platform === WINDOWS_PLATFORM && language === ENGLISH_LANGUAGE) names.set(id, decodeUtf16(bytes));
    if (platform === MACINTOSH_PLATFORM && language === 0 && !names.has(id))
      names.set(id, bytes.toString('latin1'));
  }
  return names;
}

/** Text in UTF-16, big-endian. */
function decodeUtf16(bytes: Buffer): string {
  const swapped = Buffer.from(bytes.subarray(0, bytes.length & ~1));
  return swapped.swap16().toString('utf16le');
}

/**
 * The characters in the best subtable of `cmap`. A subtable of all of Unicode is preferred to one of the Basic
 * Multilingual Plane.
 */
function readCodePointRanges(cmap: Buffer): FontFace['ranges'] {
  const count = cmap.readUInt16BE(2);
  let plane: FontFace['ranges'] = [];
  for (let index = 0, at = 4; index < count && at + 8 <= cmap.length; index += 1, at += 8) {
    const [platform, encoding] = [cmap.readUInt16BE(at), cmap.readUInt16BE(at + 2)];
    if (platform !== 0 && !(platform === WINDOWS_PLATFORM && (encoding === 1 || encoding === 10))) continue;
    const table = cmap.subarray(cmap.readUInt32BE(at + 4));
    const format = table.readUInt16BE(0);
    if (format === 12) return readCmapGroups(table);
    if (format === 4) plane = readCmapSegments(table);
  }
  return plane;
}

function readCmapGroups(table: Buffer): FontFace['ranges'] {
  const count = Math.min(table.readUInt32BE(12), MAX_CMAP_GROUPS);
  const ranges: FontFace['ranges'] = [];
  for (let index = 0, at = 16; index < count; index += 1, at += 12) {
    const [first, last, glyph] = [0, 4, 8].map((field) => table.readUInt32BE(at + field)) as NumberTriple;
    // A glyph number of 0 means that the font lacks the character.
    if (last <= MAX_CODE_POINT && first <= last) ranges.push([glyph === 0 ? first + 1 : first, last]);
  }
  return ranges;
}

type NumberTriple = [number, number, number];

function readCmapSegments(table: Buffer): FontFace['ranges'] {
  const doubledCount = table.readUInt16BE(6);
  const ranges: FontFace['ranges'] = [];
  for (let at = 0; at < doubledCount; at += 2) {
    const last = table.readUInt16BE(14 + at);
    const first = table.readUInt16BE(16 + doubledCount + at);
    const delta = table.readUInt16BE(16 + 2 * doubledCount + at);
    const offsetAt = 16 + 3 * doubledCount + at;
    const offset = table.readUInt16BE(offsetAt);
    const glyphOf = (code: number): number => {
      if (offset === 0) return (code + delta) & 0xffff;
      const glyphAt = offsetAt + offset + 2 * (code - first);
      return glyphAt + 2 <= table.length ? table.readUInt16BE(glyphAt) : 0;
    };
    for (let code = first; code <= last && code < 0xffff; code += 1) {
      if (glyphOf(code) === 0) continue;
      const before = ranges.at(-1);
      if (before !== undefined && before[1] === code - 1) ranges[ranges.length - 1] = [before[0], code];
      else ranges.push([code, code]);
    }
  }
  return ranges;
}
