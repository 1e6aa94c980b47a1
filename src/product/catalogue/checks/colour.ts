import { cssColour } from '../../../../workers/image/operations/parameter.ts';

export { isTranslucent } from '../../../../workers/image/operations/parameter.ts';

/** Whether the text is a CSS colour, read by the parser that the pixels are painted with. */
export function isColour(text: string): boolean {
  return cssColour(text) !== undefined;
}
