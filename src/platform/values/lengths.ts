/**
 * Whether a text has more characters than a limit. They are counted as schemas count them: an emoji outside the basic
 * plane is one. A text far beyond the limit is not counted.
 */
export function isLongerThan(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  return text.length > 2 * limit || Array.from(text).length > limit;
}
