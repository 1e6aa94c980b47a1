/** The first family of a list in CSS or Pango: the one that is wanted. The others are its substitutes. */
export function firstFontFamily(list: string): string | undefined {
  const [, quoted, plain] = /^\s*(?:["']([^"']*)["']|([^,]*))/.exec(list) ?? [];
  const family = (quoted ?? plain ?? '').trim();
  return family === '' ? undefined : family;
}

/**
 * Families that name a kind of font, and old names that stand for one. Browsers use them by default, and fontconfig has
 * a font of the same widths for them.
 */
const GENERIC: ReadonlySet<string> = new Set([
  ...['sans', 'sans-serif', 'serif', 'monospace', 'mono', 'cursive', 'fantasy', 'math', 'emoji', 'fangsong'],
  ...['system-ui', 'ui-sans-serif', 'ui-serif', 'ui-monospace', 'ui-rounded'],
  ...['-apple-system', 'blinkmacsystemfont'],
  ...['arial', 'helvetica', 'times', 'times new roman', 'courier', 'courier new'],
]);

/** Whether a family names a kind of font, so that it never counts as missing. */
export function isGenericFontFamily(family: string): boolean {
  return [family, familyWithoutStyle(family)].some((name) => GENERIC.has(name.toLowerCase()));
}

const STYLES =
  /(?:[\s-]+(?:regular|book|roman|normal|thin|hairline|(?:extra|ultra|semi|demi)?[\s-]?(?:light|bold|condensed|expanded)|medium|heavy|black|italic|oblique|condensed|narrow|small-caps))+$/i;

/** A family name without a style at its end. Pango reads `DejaVu Sans Bold` as the bold style of DejaVu Sans. */
export function familyWithoutStyle(family: string): string {
  return family.replace(STYLES, '');
}
