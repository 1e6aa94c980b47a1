/** Decodes the percent-encoding of a text; null when the encoding is malformed. */
export function decodePercentEncoding(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
