import { choice, colour, flag, integer, optional } from './parameter.ts';

/** Settings of encoders, each said once; a format's operation takes those that it has. */
export const QUALITY = { quality: optional(integer(1, 100, 'Quality; the default depends on the format.')) };
export const EFFORT = {
  effort: optional(integer(0, 9, 'How hard the encoder tries, 0 fastest, 9 smallest.')),
};
export const LOSSLESS = { lossless: optional(flag('Keep every pixel exactly.')) };
export const PROGRESSIVE = { progressive: optional(flag('Whether it appears in passes while it loads.')) };
export const COLORS = {
  colors: optional(integer(2, 256, 'Size of the palette, rounded up to 2, 4, 16 or 256.')),
};
export const CHROMA = {
  chroma: optional(choice(['4:2:0', '4:4:4'], 'Chroma subsampling; 4:4:4 keeps fine colour edges.')),
};
export const BACKGROUND = {
  background: optional(
    colour('Colour of room that steps open up; under transparency, where the format has none.'),
  ),
};
