import { cssColour } from '../../workers/image/operations/parameter.ts';

/** Whether the text is a CSS colour, read by the parser that the pixels are painted with. */
export function isColour(text: string): boolean {
  return cssColour(text) !== undefined;
}

/** Whether the value is a CSS colour that lets something through. */
export function isTranslucent(value: unknown): boolean {
  return typeof value === 'string' && (cssColour(value)?.alpha ?? 1) < 1;
}
