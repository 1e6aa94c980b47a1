import { defineSettingOperation } from './operation.ts';
import {
  choiceParameter,
  colourParameter,
  flagParameter,
  integerParameter,
  numberParameter,
  optionalParameter,
} from './parameter.ts';
import { Type } from './schema.ts';

export const decodeOperation = defineSettingOperation({
  description: 'Sets how the input is read.',
  parameters: {
    frame: optionalParameter(
      Type.Union([Type.Literal('first'), Type.Literal('all'), Type.Integer({ minimum: 0 })], {
        description:
          'Which frames are read: first, all, or one by its index from 0; all is the default when input and result can both move.',
      }),
    ),
    frames: optionalParameter(
      Type.String({
        pattern: '^\\d{1,6}\\.\\.\\d{1,6}$',
        examples: ['10..99'],
        description:
          'The frames of an animation that are read, from and to their index from 0, both included; instead of frame.',
      }),
    ),
    everyNth: optionalParameter(
      integerParameter(
        2,
        100,
        'Reads the first of so many frames. The time of frames that are left out goes to the frame before.',
      ),
    ),
    maxFps: optionalParameter(
      numberParameter(
        1,
        60,
        'Reads at most so many frames of each second. The time of frames that are left out goes to the frame before.',
      ),
    ),
    maxFrames: optionalParameter(
      integerParameter(
        1,
        1000,
        'Reads at most so many frames, the first that frames, everyNth and maxFps leave.',
      ),
    ),
    density: optionalParameter(
      integerParameter(
        1,
        2400,
        'Dots per inch at which a drawing (SVG) is drawn: 96, the default, draws a CSS pixel as one pixel. Without it, a resize at the start draws in the size that it asks for.',
      ),
    ),
  },
  settings: (params) => ({ decode: params }),
});

export const keepMetadataOperation = defineSettingOperation({
  description: 'Sets which metadata the result carries.',
  parameters: {
    metadata: choiceParameter(
      ['strip', 'keep', 'copyright'],
      'Nothing, all of EXIF, XMP, IPTC (in jpeg and tiff) and the ICC profile, or the rights fields alone.',
      { default: 'keep' },
    ),
  },
  settings: (params) => ({ encode: params }),
});

/** The encoder settings, each defined once. The operation of a format has those that its encoder supports. */
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
