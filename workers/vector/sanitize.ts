/**
 * What an SVG could do besides drawing: load a file of the machine or an address of its network (href, url(),
 * @import, XInclude, external entities), or unfold a few hundred bytes into gigabytes (nested entities). The renderer
 * gets no base address and so loads nothing by itself; this is the first of the two fences, and does not rely on it.
 */

/** The drawing may not be read; the message says why. */
export class UnsafeDrawing extends Error {
  override readonly name = 'UnsafeDrawing';
}

// Each of these reads a hostile text in one sweep: none looks further than the next "<" before it fails.
const DECLARATION = /^\ufeff?\s*<\?xml\b[^>]*\?>/;
const DECLARED_ENCODING = /\bencoding\s*=\s*["']([\w.:-]+)["']/;
const LEADING_COMMENTS = /^\s*(?:<!--[\s\S]*?-->\s*)+/;
const DOCTYPE = /^\s*<!DOCTYPE[^[<>]*(?:\[[^\]]*\]\s*)?>/;
const ENTITY_REFERENCE = /&([^\s#&;]+);/g;
const ENTITY = /<!ENTITY\s+(%\s+)?([^\s"'>]+)\s+(?:"([^"]*)"|'([^']*)'|([^>]*))/g;
const TAG = /<[a-z_](?:[^"'<>]|"[^"<]*"|'[^'<]*')*>/gi;
const REFERENCE = /((?<![\w.:-])(?:[\w.-]+:)?(?:href|src)\s*=\s*)(?:"([^"]*)"|'([^']*)')/gi;
const CSS_URL = /url\(\s*(?:"[^"]*"|'[^']*'|[^)"'<]*)\s*\)?/gi;
const CSS_IMPORT = /@import\b[^;<]*;?/gi;
const INCLUDE = /<\/?(?:[\w.-]+:)?include\b[^<>]*>/gi;
const PROCESSING_INSTRUCTION = /<\?[\s\S]*?(?:\?>|$)/g;
/** A place in the drawing itself, or raster pixels that it carries. */
const INNER = /^\s*(?:#|data:image\/(?:png|jpe?g|gif|webp|avif)[;,])/i;

/**
 * The drawing as UTF-8 text that names nothing outside of itself.
 * @throws UnsafeDrawing for entities that load or nest, or text in an encoding nobody knows.
 */
export function sanitize(file: Uint8Array): string {
  const text = decode(file).replace(DECLARATION, '').replace(PROCESSING_INSTRUCTION, '');
  return withoutDoctype(text.replace(LEADING_COMMENTS, ''))
    .replace(INCLUDE, '')
    .replace(CSS_IMPORT, '')
    .replace(TAG, (tag) => tag.replace(REFERENCE, keepInner))
    .replace(CSS_URL, (url) => (INNER.test(url.slice('url('.length).replace(/^\s*["']/, '')) ? url : 'none'));
}

/** One decoding for both readers, so that no encoding shows the renderer what was hidden from the fence. */
function decode(file: Uint8Array): string {
  if (file[0] === 0xff && file[1] === 0xfe) return new TextDecoder('utf-16le').decode(file);
  if (file[0] === 0xfe && file[1] === 0xff) return new TextDecoder('utf-16be').decode(file);
  const start = new TextDecoder('latin1').decode(file.subarray(0, 256));
  const declared = DECLARED_ENCODING.exec(/<\?xml\b[^>]*/.exec(start)?.[0] ?? '')?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(declared).decode(file);
  } catch {
    throw new UnsafeDrawing(
      `The drawing is written in ${declared}, which is not supported; save it as UTF-8.`,
    );
  }
}

/**
 * Entities that stand for plain text are common (drawing programs name their namespaces so) and are written out; all
 * others are refused. The renderer sees no DOCTYPE, and looks for the root in the first 1,000 bytes only.
 */
function withoutDoctype(text: string): string {
  const doctype = DOCTYPE.exec(text)?.[0] ?? '';
  const values = new Map<string, string>();
  for (const [, parameter, name = '', double, single] of doctype.matchAll(ENTITY)) {
    const value = double ?? single;
    if (parameter !== undefined || value === undefined || /[&%<]/.test(value)) throw trap();
    values.set(name, value.replaceAll('"', '&quot;').replaceAll("'", '&apos;'));
  }
  const rest = text.replace(doctype, '').replace(LEADING_COMMENTS, '');
  if (rest.includes('<!DOCTYPE') || rest.includes('<!ENTITY')) throw trap();
  return rest.replace(ENTITY_REFERENCE, (reference, name: string) => values.get(name) ?? reference);
}

function trap(): UnsafeDrawing {
  return new UnsafeDrawing('The drawing declares entities that load or nest; save it without its DOCTYPE.');
}

function keepInner(attribute: string, name: string, double?: string, single?: string): string {
  return INNER.test(double ?? single ?? '') ? attribute : `${name}""`;
}
