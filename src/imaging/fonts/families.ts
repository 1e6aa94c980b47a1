/** The first family of a list as in CSS or in Pango: the one that was asked for. The others are its replacements. */
export function firstFamily(list: string): string | undefined {
  const [, quoted, plain] = /^\s*(?:["']([^"']*)["']|([^,]*))/.exec(list) ?? [];
  const family = (quoted ?? plain ?? '').trim();
  return family === '' ? undefined : family;
}

/**
 * Families that name a kind of font, and the old names that stand for one: browsers use them where a page says
 * nothing, and fontconfig has a font of the same widths for them.
 */
const GENERIC: ReadonlySet<string> = new Set([
  ...['sans', 'sans-serif', 'serif', 'monospace', 'mono', 'cursive', 'fantasy', 'math', 'emoji', 'fangsong'],
  ...['system-ui', 'ui-sans-serif', 'ui-serif', 'ui-monospace', 'ui-rounded'],
  ...['-apple-system', 'blinkmacsystemfont'],
  ...['arial', 'helvetica', 'times', 'times new roman', 'courier', 'courier new'],
]);

/** Whether a family is never replaced, because it names a kind of font. */
export function isGeneric(family: string): boolean {
  return [family, withoutStyle(family)].some((name) => GENERIC.has(name.toLowerCase()));
}

const STYLES =
  /(?:[\s-]+(?:regular|book|roman|normal|thin|hairline|(?:extra|ultra|semi|demi)?[\s-]?(?:light|bold|condensed|expanded)|medium|heavy|black|italic|oblique|condensed|narrow|small-caps))+$/i;

/** A family without the style behind it: Pango reads `DejaVu Sans Bold` as the bold of DejaVu Sans. */
export function withoutStyle(family: string): string {
  return family.replace(STYLES, '');
}
