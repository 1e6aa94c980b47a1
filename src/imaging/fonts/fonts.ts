import { type FileHandle, open, readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { type FontFace, readFontFaces } from '../../../workers/formats/font.ts';
import { lazy } from '../../platform/http/lazy.ts';
import { configureFontconfig, readFontDirectories } from './fontconfig.ts';

/** A font family that is available for pages and for text. */
export interface FontFamily {
  family: string;
  /** The names of the styles, such as `Bold Italic`. */
  styles: string[];
  /** The names of the scripts that the family covers, such as `Latin`. `Emoji` counts as a script. */
  scripts: string[];
}

/** The text of a picture, and its requested fonts. */
export interface RequestedText {
  /** The characters of the text, in any order. */
  characters: string;
  /** The requested font families, in lists as in CSS: `Inter, sans-serif`. */
  families: readonly string[];
}

/** A difference between the requested and the drawn text: a missing character or font family. */
export interface FontWarning {
  code: 'missing_glyph' | 'font_replaced';
  /** The code point in hex digits, or the name of the family. */
  name: string;
}

const FONT_FILE = /\.(ttf|otf|ttc|otc)$/i;
const MAX_FOLDER_DEPTH = 8;
const CODE_POINT_COUNT = 0x110000;

/**
 * The fonts of this machine, read once from their files. Chromium draws pages and Pango draws text, but both find their
 * fonts by fontconfig in the same files. A character that no file has can therefore not be drawn.
 */
export class InstalledFonts {
  readonly #families = new Map<string, FontFamily>();
  /** One bit per code point: whether some font has it. */
  readonly #coveredBits = new Uint8Array(CODE_POINT_COUNT / 8);

  /**
   * Reads all font files at its first call, not at the start, so that a starting process can listen at once. Reading
   * takes seconds on a machine with many fonts.
   */
  readonly #readFontsOnce: () => Promise<void>;

  /** Sets FONTCONFIG_FILE; see `configureFontconfig`. */
  constructor() {
    const configuration = configureFontconfig();
    this.#readFontsOnce = lazy(() => this.#readAllFonts(configuration));
  }

  /** All families, sorted by name. */
  async list(): Promise<FontFamily[]> {
    await this.#readFontsOnce();
    return [...this.#families.values()].sort((one, other) => (one.family < other.family ? -1 : 1));
  }

  /** A warning for each character that no font has, and for each family that is not available. */
  async findWarnings({ characters, families }: RequestedText): Promise<FontWarning[]> {
    if (characters === '' && families.length === 0) return [];
    await this.#readFontsOnce();
    const requested = families.flatMap((list) => firstFontFamily(list) ?? []);
    const replaced = [...new Set(requested)].filter((family) => !this.#hasFamily(family));
    return [
      ...replaced.map((name) => ({ code: 'font_replaced' as const, name })),
      ...this.#missingCodePoints(characters).map((name) => ({ code: 'missing_glyph' as const, name })),
    ];
  }

  #hasFamily(family: string): boolean {
    if (isGenericFontFamily(family) || this.#families.has(family.toLowerCase())) return true;
    return this.#families.has(familyWithoutStyle(family).toLowerCase());
  }

  /** The code points without a glyph, each once. Invisible characters need no glyph. */
  #missingCodePoints(characters: string): string[] {
    const missing = new Set<number>();
    for (const character of characters.normalize('NFC')) {
      if (this.#covers(character) || INVISIBLE_CHARACTER.test(character)) continue;
      // A letter with an accent can also be drawn from its parts.
      const parts = [...character.normalize('NFD')];
      if (parts.length > 1 && parts.every((part) => this.#covers(part))) continue;
      missing.add(character.codePointAt(0) ?? 0);
    }
    return Array.from(missing, (codePoint) => codePoint.toString(16).toUpperCase());
  }

  #covers(character: string): boolean {
    const codePoint = character.codePointAt(0) ?? 0;
    return ((this.#coveredBits[codePoint >> 3] ?? 0) & (1 << (codePoint & 7))) !== 0;
  }

  async #readAllFonts(configuration: string): Promise<void> {
    const seen = new Set<string>();
    for (const directory of readFontDirectories(configuration)) await this.#readFolder(directory, seen, 0);
  }

  /** Reads the fonts of a directory and its subdirectories, each file once. A file that cannot be read is skipped. */
  async #readFolder(directory: string, seen: Set<string>, depth: number): Promise<void> {
    const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const path = join(directory, entry.name);
      if (FONT_FILE.test(entry.name)) await this.#readFontFile(path, seen).catch(() => {});
      else if (!entry.isFile() && depth < MAX_FOLDER_DEPTH) await this.#readFolder(path, seen, depth + 1);
    }
  }

  async #readFontFile(path: string, seen: Set<string>): Promise<void> {
    const real = await realpath(path);
    if (seen.has(real)) return;
    seen.add(real);
    const file = await open(real);
    try {
      const faces = await readFontFaces((offset, length) => readAt(file, offset, length));
      for (const face of faces) this.#addFace(face);
    } finally {
      await file.close();
    }
  }

  #addFace({ family, style, ranges }: FontFace): void {
    const key = family.toLowerCase();
    const knownFamily = this.#families.get(key) ?? { family, styles: [], scripts: [] };
    const union = (one: string[], more: string[]) => [...new Set([...one, ...more])].sort();
    this.#families.set(key, {
      family: knownFamily.family,
      styles: union(knownFamily.styles, [style]),
      scripts: union(knownFamily.scripts, scriptsCoveredBy(ranges)),
    });
    for (const [first, last] of ranges) {
      for (let codePoint = first; codePoint <= last; codePoint += 1)
        this.#coveredBits[codePoint >> 3] = (this.#coveredBits[codePoint >> 3] ?? 0) | (1 << (codePoint & 7));
    }
  }
}

/** Spaces, control characters, and characters that only change how others are drawn. */
const INVISIBLE_CHARACTER = /^[\p{White_Space}\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]$/u;

async function readAt(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
  return buffer.subarray(0, bytesRead);
}

/** The first family of a list in CSS or Pango: the one that is wanted. The others are its substitutes. */
function firstFontFamily(list: string): string | undefined {
  const [, quoted, plain] = /^\s*(?:["']([^"']*)["']|([^,]*))/.exec(list) ?? [];
  const family = (quoted ?? plain ?? '').trim();
  return family === '' ? undefined : family;
}

/**
 * Generic families, and common families such as Arial, for which fontconfig substitutes a font with the same metrics.
 */
const GENERIC_FAMILIES: ReadonlySet<string> = new Set([
  ...['sans', 'sans-serif', 'serif', 'monospace', 'mono', 'cursive', 'fantasy', 'math', 'emoji', 'fangsong'],
  ...['system-ui', 'ui-sans-serif', 'ui-serif', 'ui-monospace', 'ui-rounded'],
  ...['-apple-system', 'blinkmacsystemfont'],
  ...['arial', 'helvetica', 'times', 'times new roman', 'courier', 'courier new'],
]);

/** Whether fontconfig always has a good substitute for a family, so that the family never counts as missing. */
function isGenericFontFamily(family: string): boolean {
  return [family, familyWithoutStyle(family)].some((name) => GENERIC_FAMILIES.has(name.toLowerCase()));
}

const STYLE_SUFFIX =
  /(?:[\s-]+(?:regular|book|roman|normal|thin|hairline|(?:extra|ultra|semi|demi)?[\s-]?(?:light|bold|condensed|expanded)|medium|heavy|black|italic|oblique|condensed|narrow|small-caps))+$/i;

/** The longest name in which a style is searched. The time of the search grows with the square of the length. */
const MAX_STYLED_NAME_CHARACTERS = 200;

/** A family name without a style at its end. Pango reads `DejaVu Sans Bold` as the bold style of DejaVu Sans. */
function familyWithoutStyle(family: string): string {
  return family.length > MAX_STYLED_NAME_CHARACTERS ? family : family.replace(STYLE_SUFFIX, '');
}

/**
 * Sample letters of each script. A font supports a script if it has all of the letters. A few are enough, because fonts
 * cover a script or leave it out.
 */
const SAMPLE_LETTERS: Readonly<Record<string, string>> = {
  Latin: 'AZazéñ',
  Greek: 'ΑΩαω',
  Cyrillic: 'АЯая',
  Armenian: 'ԱՖաֆ',
  Georgian: 'აჰ',
  Hebrew: 'את',
  Arabic: 'ابي',
  Devanagari: 'अह',
  Bengali: 'অহ',
  Gurmukhi: 'ਅਹ',
  Gujarati: 'અહ',
  Tamil: 'அஹ',
  Telugu: 'అహ',
  Kannada: 'ಅಹ',
  Malayalam: 'അഹ',
  Sinhala: 'අහ',
  Thai: 'กฮ',
  Lao: 'ກຮ',
  Khmer: 'កហ',
  Myanmar: 'ကဟ',
  Ethiopic: 'ሀፈ',
  Hiragana: 'あん',
  Katakana: 'アン',
  Han: '一国語',
  Hangul: '가힣',
  Emoji: '😀🎉🚀',
};

const SCRIPTS = Object.entries(SAMPLE_LETTERS).map(([script, letters]) => {
  return { script, codePoints: Array.from(letters, (letter) => letter.codePointAt(0) ?? 0) };
});

type CodePointRanges = ReadonlyArray<readonly [first: number, last: number]>;

/** The Unicode names of the scripts that ranges of code points cover, and `Emoji`. */
function scriptsCoveredBy(ranges: CodePointRanges): string[] {
  const has = (codePoint: number) => ranges.some(([first, last]) => first <= codePoint && codePoint <= last);
  return SCRIPTS.filter(({ codePoints }) => codePoints.every(has)).map(({ script }) => script);
}
