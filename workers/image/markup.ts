/** Text for XML documents and for Pango's markup. */

/** The text without control characters, which XML forbids and for which a font has no glyph. */
export function printable(text: string): string {
  return text.toWellFormed().replace(/[^\P{Cc}\n\t]|[\uFFFE\uFFFF]/gu, '');
}

/** Escapes the characters that have a meaning in markup. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** Escapes the value of an attribute, in which a parser turns ends of lines and tabs into spaces. */
export function escapedValue(text: string): string {
  return escaped(text).replace(/[\t\n\r]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
