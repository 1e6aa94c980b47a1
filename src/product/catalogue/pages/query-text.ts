/** Parameters as a readable query string: see inQuery. */
export function readableQueryText(parameters: Readonly<Record<string, unknown>>): string {
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${inQuery(value)}`)
    .join('&');
}

/**
 * Escapes a query value readably: JSON keeps its brackets and quotes, and only characters that would end the value are
 * escaped.
 */
function inQuery(value: unknown): string {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return text.replace(/[^A-Za-z0-9_.~:,{}[\]"-]/gu, (character) => encodeURIComponent(character));
}
