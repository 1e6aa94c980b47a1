import { choice, flag, integer, optional } from '../parameter.ts';
import { OUTPUT_FORMATS } from '../pass-parameters.ts';
import { pixelOp } from '../pixel-op.ts';

export const convert = pixelOp({
  op: 'convert',
  description: 'Writes the picture in another format, with control over how the encoder works.',
  parameters: {
    format: choice(OUTPUT_FORMATS, 'Format of the result.'),
    progressive: optional(
      flag('Whether a jpeg, png or gif appears in passes while it loads; a jpeg does unless this is false.'),
    ),
    palette: optional(flag('Whether a png is reduced to a palette.')),
    colors: optional(integer(2, 256, 'Size of the palette of a png or gif, rounded up to 2, 4, 16 or 256.')),
    chroma: optional(
      choice(
        ['4:2:0', '4:4:4'],
        'Chroma subsampling of a jpeg or avif; 4:4:4 keeps fine colour edges, and is taken from quality 90 on.',
      ),
    ),
  },
  example: { format: 'webp', quality: 80 },
  compile({ progressive, palette, colors, chroma }) {
    return {
      encode: {
        ...(progressive !== undefined && { progressive }),
        ...(palette !== undefined && { palette }),
        ...(colors !== undefined && { colors }),
        ...(chroma !== undefined && { chroma }),
      },
    };
  },
});
