/**
 * Parameters as a query string for people to read. The function has a file of its own, because browsers load it too.
 */
export function readableQueryText(parameters: Readonly<Record<string, unknown>>): string {
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${queryValueText(value)}`)
    .join('&');
}

/**
 * Escapes a query value so that people can read it. JSON keeps its brackets and quotes; only characters that would end
 * the value are escaped.
 */
function queryValueText(value: unknown): string {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return text.replace(/[^A-Za-z0-9_.~:,{}[\]"-]/gu, (character) => encodeURIComponent(character));
}
