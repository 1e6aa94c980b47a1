import { OPERATIONS } from '../../../../workers/image/operations/index.ts';
import { choiceParameter } from '../../../../workers/image/operations/parameter.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import { OUTPUT_FORMATS } from '../pass-parameters.ts';
import { definePixelOp } from '../pixel-op.ts';

const { progressive, palette, colors } = OPERATIONS.png.declared;
const { chroma } = OPERATIONS.jpeg.declared;

export const convertOp = definePixelOp({
  op: 'convert',
  description: 'Writes the picture in another format, with control over how the encoder works.',
  parameters: {
    format: choiceParameter(OUTPUT_FORMATS, 'Format of the result.'),
    progressive,
    palette,
    colors,
    chroma,
  },
  example: { format: 'webp', quality: 80 },
  compile({ progressive, palette, colors, chroma }) {
    return {
      encode: withoutAbsentFields({ progressive, palette, colors, chroma }),
    };
  },
});
