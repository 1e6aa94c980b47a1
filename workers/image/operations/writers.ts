import { defineSettingOperation } from './operation.ts';
import {
  choiceParameter,
  colourParameter,
  flagParameter,
  integerParameter,
  optionalParameter,
} from './parameter.ts';

/** Settings of encoders, each defined once. The operation of a format takes those that its encoder has. */
const quality = optionalParameter(
  integerParameter(
    1,
    100,
    'Quality of a lossy result; 80 for jpeg, 84 for webp and 67 for avif when left out; compress with ssimulacra2 finds the quality for one picture.',
  ),
);
const effort = optionalParameter(
  integerParameter(
    0,
    9,
    'How hard the encoder tries to make the file small, 0 fastest, 9 smallest. 4 for jpeg, 3 for webp and 0 for avif (3 for a small drawing) when left out: more effort costs two to ten times the time for 5 to 15 % of the bytes.',
  ),
);
const lossless = optionalParameter(flagParameter('Keep every pixel exactly; for webp and avif.'));
const progressive = optionalParameter(
  flagParameter(
    'Whether a jpeg, png or gif appears in passes while it loads; when left out, a jpeg of 40,000 pixels or more does.',
  ),
);
const colors = optionalParameter(
  integerParameter(2, 256, 'Size of the palette of a png or gif, rounded up to 2, 4, 16 or 256.'),
);
const chroma = optionalParameter(
  choiceParameter(
    ['4:2:0', '4:4:4'],
    'Chroma subsampling of a jpeg or avif; 4:4:4 keeps fine colour edges, and is taken from quality 90 on.',
  ),
);
const background = optionalParameter(
  colourParameter(
    'Colour under transparent pixels when the format has none, and of the area that the op adds.',
  ),
);
const palette = optionalParameter(flagParameter('Whether a png is reduced to a palette.'));

export const jpegOperation = defineSettingOperation({
  description: 'Writes a JPEG.',
  parameters: { quality, effort, progressive, chroma, background },
  settings: (params) => ({ encode: { ...params, format: 'jpeg' } }),
});

export const pngOperation = defineSettingOperation({
  description: 'Writes a PNG; quality counts with a palette only.',
  parameters: { quality, palette, colors, effort, progressive, background },
  settings: (params) => ({ encode: { ...params, format: 'png' } }),
});

export const webpOperation = defineSettingOperation({
  description: 'Writes a WebP.',
  parameters: { quality, lossless, effort, background },
  settings: (params) => ({ encode: { ...params, format: 'webp' } }),
});

export const avifOperation = defineSettingOperation({
  description: 'Writes an AVIF.',
  parameters: { quality, lossless, effort, chroma, background },
  settings: (params) => ({ encode: { ...params, format: 'avif' } }),
});

export const gifOperation = defineSettingOperation({
  description: 'Writes a GIF.',
  parameters: { colors, effort, progressive, background },
  settings: (params) => ({ encode: { ...params, format: 'gif' } }),
});

export const tiffOperation = defineSettingOperation({
  description: 'Writes a TIFF, lossless unless a quality is given.',
  parameters: { quality, background },
  settings: (params) => ({ encode: { ...params, format: 'tiff' } }),
});
