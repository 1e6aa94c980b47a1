import colour from '@img/colour';

/** The package exports the parser itself; its declarations say that it lies under `default`. */
const parse = colour as unknown as typeof colour.default;

/** Whether the text is a CSS colour, read by the parser that the pixels are painted with. */
export function isColour(text: string): boolean {
  return alphaOf(text) !== undefined;
}

/** Whether the value is a CSS colour that lets something through. */
export function isTranslucent(value: unknown): boolean {
  return typeof value === 'string' && (alphaOf(value) ?? 1) < 1;
}

function alphaOf(text: string): number | undefined {
  try {
    return parse(text).alpha();
  } catch {
    return undefined;
  }
}
