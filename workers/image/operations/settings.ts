import type { TProperties, TSchema } from '@sinclair/typebox';
import type { EncodeOptions, OutputFormat } from '../../protocol.ts';
import type { FilledArguments } from './arguments.ts';
import { defineSettingOperation } from './operation.ts';
import * as parameter from './parameter.ts';
import { Type } from './schema.ts';

export const decode = defineSettingOperation({
  description: 'Sets how the input is read.',
  parameters: {
    frame: parameter.optional(
      Type.Union([Type.Literal('first'), Type.Literal('all'), Type.Integer({ minimum: 0 })], {
        description:
          'Which frames are read: first, all, or one by its index from 0; all is the default when input and result can both move.',
      }),
    ),
    frames: parameter.optional(
      Type.String({
        pattern: '^\\d{1,6}\\.\\.\\d{1,6}$',
        examples: ['10..99'],
        description:
          'The frames of an animation that are read, from and to their index from 0, both included; instead of frame.',
      }),
    ),
    everyNth: parameter.optional(
      parameter.integer(
        2,
        100,
        'Reads the first of so many frames. The time of frames that are left out goes to the frame before.',
      ),
    ),
    maxFps: parameter.optional(
      parameter.number(
        1,
        60,
        'Reads at most so many frames of each second. The time of frames that are left out goes to the frame before.',
      ),
    ),
    maxFrames: parameter.optional(
      parameter.integer(
        1,
        1000,
        'Reads at most so many frames, the first that frames, everyNth and maxFps leave.',
      ),
    ),
    density: parameter.optional(
      parameter.integer(
        1,
        2400,
        'Dots per inch at which a drawing (SVG) is drawn: 96, the default, draws a CSS pixel as one pixel. Without it, a resize at the start draws in the size that it asks for.',
      ),
    ),
  },
  settings: (params) => ({ decode: params }),
});

export const keepMetadata = defineSettingOperation({
  description: 'Sets which metadata the result carries.',
  parameters: {
    metadata: parameter.choice(
      ['strip', 'keep', 'copyright'],
      'Nothing, all of EXIF, XMP, IPTC (in jpeg and tiff) and the ICC profile, or the rights fields alone.',
      { default: 'keep' },
    ),
  },
  settings: (params) => ({ encode: params }),
});

/** The encoder settings, each defined once. The operation of a format has those that its encoder supports. */
const quality = parameter.optional(
  parameter.integer(
    1,
    100,
    'Quality of a lossy result; 80 for jpeg, 84 for webp and 67 for avif when left out; compress with ssimulacra2 finds the quality for one picture.',
  ),
);
const effort = parameter.optional(
  parameter.integer(
    0,
    9,
    'How hard the encoder tries to make the file small, 0 fastest, 9 smallest. 4 for jpeg, 3 for webp and 0 for avif (3 for a small drawing) when left out: more effort costs two to ten times the time for 5 to 15 % of the bytes.',
  ),
);
const lossless = parameter.optional(parameter.flag('Keep every pixel exactly; for webp and avif.'));
const progressive = parameter.optional(
  parameter.flag(
    'Whether a jpeg, png or gif appears in passes while it loads; when left out, a jpeg of 40,000 pixels or more does.',
  ),
);
const colors = parameter.optional(
  parameter.integer(2, 256, 'Size of the palette of a png or gif, rounded up to 2, 4, 16 or 256.'),
);
const chroma = parameter.optional(
  parameter.choice(
    ['4:2:0', '4:4:4'],
    'Chroma subsampling of a jpeg or avif; 4:4:4 keeps fine colour edges, and is taken from quality 90 on.',
  ),
);
const background = parameter.optional(
  parameter.colour(
    'Colour under transparent pixels when the format has none, and of the area that the op adds.',
  ),
);
const palette = parameter.optional(parameter.flag('Whether a png is reduced to a palette.'));

export const jpeg = defineFormatSetting('jpeg', 'Writes a JPEG.', {
  quality,
  effort,
  progressive,
  chroma,
  background,
});
export const png = defineFormatSetting('png', 'Writes a PNG; quality counts with a palette only.', {
  quality,
  palette,
  colors,
  effort,
  progressive,
  background,
});
export const webp = defineFormatSetting('webp', 'Writes a WebP.', { quality, lossless, effort, background });
export const avif = defineFormatSetting('avif', 'Writes an AVIF.', {
  quality,
  lossless,
  effort,
  chroma,
  background,
});
export const gif = defineFormatSetting('gif', 'Writes a GIF.', { colors, effort, progressive, background });
export const tiff = defineFormatSetting('tiff', 'Writes a TIFF, lossless unless a quality is given.', {
  quality,
  background,
});

/** Defines the setting that writes a format, with those encoder settings that its encoder reads. */
function defineFormatSetting<P extends Partial<Record<keyof EncodeOptions, TSchema>> & TProperties>(
  format: OutputFormat,
  description: string,
  parameters: P,
) {
  const settings = (params: FilledArguments<P>) => ({ encode: { ...params, format } });
  return defineSettingOperation({ description, parameters, settings });
}
