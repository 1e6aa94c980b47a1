import { Type } from '@sinclair/typebox';
import { OPERATIONS } from '../../../../workers/image/operations/index.ts';
import * as parameter from '../../../../workers/image/operations/parameter.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import { type FormatOrFormats, OUTPUT_FORMATS } from '../parameters.ts';
import { definePixelOp } from '../pixel-op.ts';

const { progressive, palette, colors } = OPERATIONS.png.declared;
const { chroma } = OPERATIONS.jpeg.declared;

export const convertOp = definePixelOp({
  op: 'convert',
  description: 'Writes the picture in another format, with control over how the encoder works.',
  parameters: {
    format: parameter.choice(OUTPUT_FORMATS, 'Format of the result.'),
    progressive,
    palette,
    colors,
    chroma,
  },
  example: { format: 'webp', quality: 80 },
  compile({ progressive, palette, colors, chroma }) {
    return { encode: withoutAbsentFields({ progressive, palette, colors, chroma }) };
  },
});

/** The parameters that set a target for the result, of which a call sends exactly one. */
const TARGET_PARAMETERS = ['maxBytes', 'minSsim', 'ssimulacra2'] as const;
const LIKENESS_TARGETS = ['minSsim', 'ssimulacra2'] as const;

const oneFormat = { type: 'string', enum: [...OUTPUT_FORMATS] };
const severalFormats = {
  type: 'array',
  items: oneFormat,
  minItems: 1,
  maxItems: OUTPUT_FORMATS.length,
  uniqueItems: true,
};

export const compressOp = definePixelOp({
  op: 'compress',
  description:
    'Finds the smallest file that reaches one target: a size, or a likeness to the original. X-Service-Quality, -Ssim, -Ssimulacra2 and -Trials say what was reached; in a refusal, details.achieved does.',
  parameters: {
    format: parameter.optional(
      Type.Unsafe<FormatOrFormats>({
        anyOf: [oneFormat, severalFormats],
        description:
          'One, or several (avif,webp): the smallest that keeps frames and transparency; X-Service-Format names it.',
      }),
    ),
    maxBytes: parameter.optional(parameter.integer(100, 26_214_400, 'Largest size of the result in bytes.')),
    minSsim: parameter.optional(parameter.number(0.8, 1, 'Least SSIM (on luma); needs format.')),
    ssimulacra2: parameter.optional(
      parameter.number(
        30,
        100,
        'Least score of SSIMULACRA 2, which sees colours too (70 good, 80 very good, 90 hardly told apart); needs format; 8 pixels per edge to 4 megapixels.',
      ),
    ),
  },
  example: { maxBytes: 200_000, format: 'webp' },
  findInvalidParameter(given) {
    const [first, second] = TARGET_PARAMETERS.filter((name) => given[name] !== undefined);
    if (second !== undefined) {
      return {
        key: second,
        message: `${first} and ${second} exclude each other: send one of them.`,
        details: { suggest: [first, second] },
      };
    }
    const likeness = LIKENESS_TARGETS.find((name) => given[name] !== undefined);
    if (likeness !== undefined && given.format === undefined) {
      return {
        key: 'format',
        message: `format is missing: ${likeness} asks for a likeness in a format, so name it.`,
        details: { missing: ['format'] },
      };
    }
    if (first === undefined) {
      return {
        key: 'maxBytes',
        message: 'maxBytes, minSsim and ssimulacra2 are all missing: send one of them.',
        details: { missing: [...TARGET_PARAMETERS], suggest: [...TARGET_PARAMETERS] },
      };
    }
    return undefined;
  },
  compile({ maxBytes, minSsim, ssimulacra2 }) {
    if (maxBytes !== undefined) return { encode: { target: { maxBytes } } };
    if (minSsim !== undefined) return { encode: { target: { minSsim } } };
    return ssimulacra2 === undefined ? {} : { encode: { target: { ssimulacra2 } } };
  },
});
