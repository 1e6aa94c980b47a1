import { choice, colour, flag, integer, optional } from './parameter.ts';

/** Settings of encoders, each defined once. The operation of a format takes those that its encoder has. */
export const QUALITY = {
  quality: optional(
    integer(
      1,
      100,
      'Quality of a lossy result; 80 for jpeg, 84 for webp and 67 for avif when left out, which look alike in the mean of photographs. A soft picture looks worse as webp and a rough one better: compress with ssimulacra2 finds the quality for the picture.',
    ),
  ),
};
export const EFFORT = {
  effort: optional(
    integer(
      0,
      9,
      'How hard the encoder tries to make the file small, 0 fastest, 9 smallest; scaled to the encoder. 4 for jpeg, 3 for webp and 0 for avif (3 for a small drawing) when left out: more effort costs two to ten times the time for 5 to 15 % of the bytes.',
    ),
  ),
};
export const LOSSLESS = { lossless: optional(flag('Keep every pixel exactly; for webp and avif.')) };
export const PROGRESSIVE = {
  progressive: optional(
    flag(
      'Whether a jpeg, png or gif appears in passes while it loads; when left out, a jpeg of 40,000 pixels or more does.',
    ),
  ),
};
export const COLORS = {
  colors: optional(integer(2, 256, 'Size of the palette of a png or gif, rounded up to 2, 4, 16 or 256.')),
};
export const CHROMA = {
  chroma: optional(
    choice(
      ['4:2:0', '4:4:4'],
      'Chroma subsampling of a jpeg or avif; 4:4:4 keeps fine colour edges, and is taken from quality 90 on.',
    ),
  ),
};
export const BACKGROUND = {
  background: optional(
    colour('Colour under transparent pixels when the format has none, and of the area that the op adds.'),
  ),
};
