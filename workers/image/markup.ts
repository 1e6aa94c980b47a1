/** Text for XML documents and for Pango's markup. */

/** Text without control characters, which XML forbids and fonts do not draw. */
export function withoutControlCharacters(text: string): string {
  return text.toWellFormed().replace(/[^\P{Cc}\n\t]|[\uFFFE\uFFFF]/gu, '');
}

/** Escapes the characters that have a meaning in markup. */
export function escapeMarkup(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** Escapes the value of an attribute. Line ends and tabs are escaped too, because a parser turns them into spaces. */
export function escapeMarkupAttribute(text: string): string {
  return escapeMarkup(text).replace(/[\t\n\r]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
