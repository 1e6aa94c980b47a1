import { gunzipSync } from 'node:zlib';
import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { pixelsPerExtraUnit, withFontSizeInPixels } from '../formats/svg.ts';
import { decodeDataUrl, RASTER_MEDIA_TYPE_PATTERN, RASTER_START } from './data-url.ts';
import {
  type EmbeddedPicture,
  escapeXmlText,
  SafeDrawing,
  type SvgElement,
  startTagText,
} from './drawing.ts';

/**
 * Makes an SVG safe to draw. An SVG could load a file of the machine or an address of its network (href, url(),
 * @import, XInclude, external entities), or expand a few hundred bytes into gigabytes (nested entities). This file is
 * the first of two barriers. It does not rely on the second: the renderer gets no base address, and so loads nothing by
 * itself.
 *
 * The drawing is parsed and written again: elements, attributes and text, with every reference and every style seen as
 * the renderer would see it. Comments, processing instructions and the DOCTYPE are not written, so it does not matter
 * whether both parsers read them in the same way. A drawing inside the drawing, as a data address, is made safe by the
 * same rules.
 */

/** The drawing may not be drawn; the message says why. */
export class UnsafeDrawingError extends Error {
  override readonly name = 'UnsafeDrawingError';
}

const DECLARED_ENCODING = /\bencoding\s*=\s*["']([\w.:-]+)["']/;
const ENTITY_DECLARATION = /<!ENTITY\s+(%\s+)?([^\s"'>]+)\s+(?:"([^"]*)"|'([^']*)'|([^>]*))/g;
/** The most characters to which all entities and compressed inner drawings may expand together. */
const MAX_EXPANDED_CHARACTERS = 16 * 1024 * 1024;
/** The deepest level of drawings within drawings. Deeper ones are left out. */
const MAX_DRAWING_DEPTH = 3;

/**
 * Matches attributes with an address that is loaded, and `base`, on which relative addresses depend. The attributes may
 * have any prefix.
 */
const REFERENCE_ATTRIBUTE = /(?:^|:)(?:href|src|base)$/i;
/** Matches elements that load another file. They may have any prefix. */
const INCLUDE_ELEMENT = /(?:^|:)include$/i;
const STYLE_ELEMENT = /(?:^|:)style$/i;
/** Matches a style that may name a file. */
const FILE_REFERENCE_HINT = /url|import|\\/i;
const CSS_URL = /url\(\s*(?:"[^"]*"|'[^']*'|[^)"']*)\s*\)?/gi;
const CSS_IMPORT = /@import\b[^;]*;?/gi;
/**
 * Matches an escape that a style writes in place of a letter: its code point, as in `\75rl(`, or the letter itself, as
 * in `u\rl(`.
 */
const CSS_ESCAPE = /\\(?:([0-9a-f]{1,6})(?:\r\n|\s)?|([g-z]))/gi;
const MAX_CODE_POINT = 0x10ffff;
const CSS_LETTER = /^[a-z]$/i;
/** Matches a reference to an element of the drawing itself. */
const FRAGMENT_REFERENCE = /^\s*#/;
/** Matches a reference in a style to an element of the drawing itself, or to raster pixels that the style embeds. */
const INNER_REFERENCE = /^\s*(?:#|data:image\/(?:png|jpeg|gif|webp|avif)[;,])/i;
const SVG_MEDIA_TYPE = 'image/svg+xml';
/** The media types that the renderer does not know. For them it examines the bytes, which could hold a drawing. */
const UNKNOWN_MEDIA_TYPES = ['', 'image/jpg'];
/** The first bytes of a compressed drawing (.svgz). */
const GZIP_START = '\x1f\x8b';

/** Matches attributes that hold lengths. */
const LENGTH_ATTRIBUTE =
  /^(?:style|[xy][12]?|[cdf][xy]|r[xy]?|width|height|font-size|stroke-width|stroke-dash(?:array|offset)|(?:letter|word)-spacing|baseline-shift|marker(?:Width|Height)|ref[XY]|startOffset|textLength)$/;
const UNSUPPORTED_LENGTH =
  /(?<=^|[\s:,])([+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?)(Q|rem|v(?:w|h|min|max))(?=$|[\s;,!}])/gi;

/** The limits and results that a drawing shares with the drawings inside it. */
interface SharedDrawingState {
  /** The number of characters to which entities and compressed drawings may still expand. */
  remainingCharacters: number;
  /** The raster pictures in the drawing and in the drawings inside it. */
  readonly pictures: EmbeddedPicture[];
  /** The new addresses of raster pictures, by the addresses that they replace. */
  readonly replacements: ReadonlyMap<string, string>;
}

/**
 * Reads a drawing, and drops every reference to something outside it.
 * @param replacements the addresses to write in place of those of raster pictures.
 * @throws UnsafeDrawingError for entities that load, nest or expand, and for text in an unknown encoding; Error for
 *   text that is not well-formed XML.
 */
export function sanitizeSvg(
  file: Uint8Array,
  replacements: ReadonlyMap<string, string> = new Map(),
): SafeDrawing {
  return sanitizeDrawing(0, file, {
    remainingCharacters: MAX_EXPANDED_CHARACTERS,
    pictures: [],
    replacements,
  });
}

/**
 * Sanitizes one drawing.
 * @param depth the number of drawings around this one.
 */
function sanitizeDrawing(depth: number, file: Uint8Array, shared: SharedDrawingState): SafeDrawing {
  const text = decodeText(file).trimStart();
  const writer = new DrawingWriter((address) => safeDataAddress(address, depth + 1, shared));
  const parser = new SaxesParser({ xmlns: false, position: false } as const);
  parser.on('doctype', (doctype) => {
    for (const [name, value] of parseEntities(doctype, text, shared)) parser.ENTITIES[name] = value;
  });
  parser.on('opentag', (tag) => writer.open(tag));
  parser.on('closetag', (tag) => writer.close(tag));
  parser.on('text', (content) => writer.text(content));
  parser.on('cdata', (content) => writer.text(content));
  parser.write(text).close();
  return writer.written(shared.pictures);
}

/**
 * Returns a `data:` URL of a raster picture unchanged, and one of a drawing after the drawing was made safe. The result
 * is empty for any other address.
 */
function safeDataAddress(address: string, depth: number, shared: SharedDrawingState): string {
  const data = decodeDataUrl(address);
  if (data === null) return '';
  const { type, bytes } = data;
  const isUnknown = UNKNOWN_MEDIA_TYPES.includes(type);
  const start = bytes.toString('latin1', 0, 12);
  const isRaster = RASTER_START.test(start);
  if (RASTER_MEDIA_TYPE_PATTERN.test(type) || (isUnknown && isRaster)) {
    if (isRaster) shared.pictures.push({ address, file: bytes });
    return shared.replacements.get(address) ?? address;
  }
  if ((!isUnknown && type !== SVG_MEDIA_TYPE) || depth > MAX_DRAWING_DEPTH) return '';
  try {
    const file = start.startsWith(GZIP_START) ? decompressDrawing(bytes, shared) : bytes;
    const drawing = sanitizeDrawing(depth, file, shared).text();
    return `data:${SVG_MEDIA_TYPE};base64,${Buffer.from(drawing).toString('base64')}`;
  } catch {
    // A picture that cannot be read is left out of the drawing, as browsers do.
    return '';
  }
}

/**
 * Decompresses a drawing.
 * @throws Error for a drawing that is cut off or larger than the remaining budget.
 */
function decompressDrawing(packed: Buffer, shared: SharedDrawingState): Buffer {
  const bytes = gunzipSync(packed, { maxOutputLength: Math.max(1, shared.remainingCharacters) });
  shared.remainingCharacters -= bytes.length;
  return bytes;
}

/**
 * Decodes the file. The renderer gets the decoded text, because it could assume another encoding for the file, and see
 * something that this parser did not.
 */
function decodeText(file: Uint8Array): string {
  if (file[0] === 0xff && file[1] === 0xfe) return new TextDecoder('utf-16le').decode(file);
  if (file[0] === 0xfe && file[1] === 0xff) return new TextDecoder('utf-16be').decode(file);
  const start = new TextDecoder('latin1').decode(file.subarray(0, 256));
  const declared = DECLARED_ENCODING.exec(/<\?xml\b[^>]*/.exec(start)?.[0] ?? '')?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(declared).decode(file);
  } catch {
    throw new UnsafeDrawingError(
      `The drawing is written in ${declared}, which is not supported; save it as UTF-8.`,
    );
  }
}

/** Collects entities of plain text, which drawing programs use for namespaces. All other entities are refused. */
function parseEntities(doctype: string, text: string, shared: SharedDrawingState): Map<string, string> {
  const values = new Map<string, string>();
  let longest = 0;
  for (const [, parameter, name = '', double, single] of doctype.matchAll(ENTITY_DECLARATION)) {
    const value = double ?? single;
    if (parameter !== undefined || value === undefined || /[&%<]/.test(value)) throw unsafeEntitiesError();
    values.set(name, value);
    longest = Math.max(longest, value.length);
  }
  if (longest > 0) shared.remainingCharacters -= longest * (text.split('&').length - 1);
  if (shared.remainingCharacters < 0) throw unsafeEntitiesError();
  return values;
}

function unsafeEntitiesError(): UnsafeDrawingError {
  return new UnsafeDrawingError(
    'The drawing declares entities that load, nest or unfold; save it without its DOCTYPE.',
  );
}

/** Collects the root element, and writes the content without references to anything outside the drawing. */
class DrawingWriter {
  readonly #embedded: (address: string) => string;
  #root: SvgElement | undefined;
  #content = '';
  /** The number of open elements inside the root. */
  #depth = 0;
  /**
   * The text of the open style element. Markup within the element does not end the text, because the renderer joins its
   * parts.
   */
  #style: string | undefined;
  /** CSS pixels per unit, for the units that the renderer does not know. */
  #units: ReadonlyMap<string, number> = new Map();

  /**
   * @param embedded takes the `data:` URL of an embedded picture, and returns a safe one that replaces it.
   */
  constructor(embedded: (address: string) => string) {
    this.#embedded = embedded;
  }

  open({ name, attributes: given, isSelfClosing }: SaxesTagPlain): void {
    if (this.#style !== undefined || INCLUDE_ELEMENT.test(name)) return;
    const attributes = this.#root === undefined ? withFontSizeInPixels(given) : given;
    if (this.#root === undefined) this.#units = pixelsPerExtraUnit((key) => attributes[key]);
    const safe: Record<string, string> = {};
    for (const key in attributes) safe[key] = this.#safeValue(key, attributes[key] ?? '');
    if (this.#root === undefined) {
      this.#root = { name, attributes: safe };
      return;
    }
    this.#content += startTagText({ name, attributes: safe }, isSelfClosing);
    if (isSelfClosing) return;
    this.#depth += 1;
    if (STYLE_ELEMENT.test(name)) this.#style = '';
  }

  close({ name, isSelfClosing }: SaxesTagPlain): void {
    if (isSelfClosing || INCLUDE_ELEMENT.test(name)) return;
    if (this.#style !== undefined) {
      if (!STYLE_ELEMENT.test(name)) return;
      this.#content += escapeXmlText(safeStyle(this.#convertLengthsToPixels(this.#style)));
      this.#style = undefined;
    }
    if (this.#depth === 0) return;
    this.#depth -= 1;
    this.#content += `</${name}>`;
  }

  text(content: string): void {
    if (this.#style !== undefined) this.#style += content;
    else if (this.#root !== undefined) this.#content += escapeXmlText(content);
  }

  /**
   * Returns the written drawing.
   * @param pictures the raster pictures in it.
   */
  written(pictures: readonly EmbeddedPicture[]): SafeDrawing {
    if (this.#root === undefined) throw new UnsafeDrawingError('The drawing has no root element.');
    return new SafeDrawing(this.#root, this.#content, pictures);
  }

  #safeValue(name: string, value: string): string {
    if (!REFERENCE_ATTRIBUTE.test(name))
      return safeStyle(LENGTH_ATTRIBUTE.test(name) ? this.#convertLengthsToPixels(value) : value);
    return FRAGMENT_REFERENCE.test(value) ? value : this.#embedded(value);
  }

  #convertLengthsToPixels(lengths: string): string {
    return lengths.replace(UNSUPPORTED_LENGTH, (length, number: string, unit: string) => {
      const pixels = this.#units.get(unit.toLowerCase());
      return pixels === undefined ? length : `${Number(number) * pixels}px`;
    });
  }
}

/**
 * Removes references to outside files from a style, or from the value of an attribute, because any attribute may hold a
 * style: `fill`, `style`, `mask`.
 */
function safeStyle(css: string): string {
  if (!FILE_REFERENCE_HINT.test(css)) return css;
  return (
    decodeLetterEscapes(css)
      // A space replaces the @import: without it, the text on both sides could join into another @import.
      .replace(CSS_IMPORT, ' ')
      .replace(CSS_URL, (url) =>
        INNER_REFERENCE.test(url.slice('url('.length).replace(/^\s*["']/, '')) ? url : 'none',
      )
  );
}

/** Replaces escaped letters by the letters themselves, because an escape could hide a keyword from the check. */
function decodeLetterEscapes(css: string): string {
  return css.replace(CSS_ESCAPE, (escaped, code: string | undefined, letter: string | undefined) => {
    const sign = letter ?? String.fromCodePoint(Math.min(Number.parseInt(code ?? '', 16), MAX_CODE_POINT));
    return CSS_LETTER.test(sign) ? sign : escaped;
  });
}
