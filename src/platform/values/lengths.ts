/**
 * Whether a text has more characters than a limit. Characters are counted as in JSON schemas: an emoji outside the
 * basic plane is one. A text far above the limit is not counted to its end.
 */
export function hasMoreCharacters(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  return text.length > 2 * limit || Array.from(text).length > limit;
}
