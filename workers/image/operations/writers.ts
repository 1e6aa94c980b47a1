import { defineSetting } from './operation.ts';
import { choice, colour, flag, integer, optional } from './parameter.ts';

/** Settings of encoders, each defined once. The operation of a format takes those that its encoder has. */
const quality = optional(
  integer(
    1,
    100,
    'Quality of a lossy result; 80 for jpeg, 84 for webp and 67 for avif when left out; compress with ssimulacra2 finds the quality for one picture.',
  ),
);
const effort = optional(
  integer(
    0,
    9,
    'How hard the encoder tries to make the file small, 0 fastest, 9 smallest. 4 for jpeg, 3 for webp and 0 for avif (3 for a small drawing) when left out: more effort costs two to ten times the time for 5 to 15 % of the bytes.',
  ),
);
const lossless = optional(flag('Keep every pixel exactly; for webp and avif.'));
const progressive = optional(
  flag(
    'Whether a jpeg, png or gif appears in passes while it loads; when left out, a jpeg of 40,000 pixels or more does.',
  ),
);
const colors = optional(
  integer(2, 256, 'Size of the palette of a png or gif, rounded up to 2, 4, 16 or 256.'),
);
const chroma = optional(
  choice(
    ['4:2:0', '4:4:4'],
    'Chroma subsampling of a jpeg or avif; 4:4:4 keeps fine colour edges, and is taken from quality 90 on.',
  ),
);
const background = optional(
  colour('Colour under transparent pixels when the format has none, and of the area that the op adds.'),
);
const palette = optional(flag('Whether a png is reduced to a palette.'));

export const jpeg = defineSetting({
  description: 'Writes a JPEG.',
  parameters: { quality, effort, progressive, chroma, background },
  settings: (params) => ({ encode: { ...params, format: 'jpeg' } }),
});

export const png = defineSetting({
  description: 'Writes a PNG; quality counts with a palette only.',
  parameters: { quality, palette, colors, effort, progressive, background },
  settings: (params) => ({ encode: { ...params, format: 'png' } }),
});

export const webp = defineSetting({
  description: 'Writes a WebP.',
  parameters: { quality, lossless, effort, background },
  settings: (params) => ({ encode: { ...params, format: 'webp' } }),
});

export const avif = defineSetting({
  description: 'Writes an AVIF.',
  parameters: { quality, lossless, effort, chroma, background },
  settings: (params) => ({ encode: { ...params, format: 'avif' } }),
});

export const gif = defineSetting({
  description: 'Writes a GIF.',
  parameters: { colors, effort, progressive, background },
  settings: (params) => ({ encode: { ...params, format: 'gif' } }),
});

export const tiff = defineSetting({
  description: 'Writes a TIFF, lossless unless a quality is given.',
  parameters: { quality, background },
  settings: (params) => ({ encode: { ...params, format: 'tiff' } }),
});
