import type { FontWarning, InstalledFonts } from '../../imaging/fonts/fonts.ts';
import { requestedTextOf } from '../transforms/fonts.ts';
import type { PricedVariant } from './definitions.ts';

/** The method of the fonts that finds missing characters and families. */
export interface JobFonts {
  fonts: Pick<InstalledFonts, 'findWarnings'>;
}

/** A warning about text that steps write, with the indexes of the steps of its pass. */
export interface StepFontWarning extends FontWarning {
  steps: number[];
}

/**
 * The characters and families that the fonts lack for the passes of these variants, each once. The text of a page is
 * known only when it is drawn.
 */
export async function findFontWarnings(
  { fonts }: JobFonts,
  variants: ReadonlyArray<Pick<PricedVariant, 'segments'>>,
): Promise<StepFontWarning[]> {
  const found = new Map<string, StepFontWarning>();
  for (const segment of variants.flatMap(({ segments }) => segments)) {
    if (segment.runs !== 'pass') continue;
    for (const warning of await fonts.findWarnings(requestedTextOf(segment.pass))) {
      const key = `${warning.code}:${warning.name}`;
      if (!found.has(key)) found.set(key, { ...warning, steps: segment.stepIndexes });
    }
  }
  return [...found.values()];
}

/** The sentence of a warning. */
export function fontWarningMessage({ code, name }: FontWarning): string {
  return code === 'missing_glyph'
    ? `No font of this service has the character U+${name}, so that a box is drawn in its place.`
    : `The font ${name} is not there, so that another one is drawn: GET /api/v1/fonts lists those that are.`;
}
