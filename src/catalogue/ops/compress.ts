import { integer, number, optional } from '../parameter.ts';
import { pixelOp } from '../pixel-op.ts';

export const compress = pixelOp({
  op: 'compress',
  description:
    'Finds the smallest file that keeps a promise: a size in bytes, or a likeness to the original. The answer says in X-Service-Quality, X-Service-Ssim and X-Service-Trials what was reached and by how many trials.',
  parameters: {
    maxBytes: optional(integer(100, 26_214_400, 'Largest size of the result in bytes; instead of minSsim.')),
    minSsim: optional(
      number(
        0.8,
        1,
        'Least structural similarity to the uncompressed picture (SSIM of Wang et al. on luma); comes with format, instead of maxBytes.',
      ),
    ),
  },
  example: { maxBytes: 200_000, format: 'webp' },
  rule(given) {
    if (given.maxBytes !== undefined && given.minSsim !== undefined) {
      return {
        key: 'minSsim',
        message: 'minSsim stands beside maxBytes: one promise can be kept, send one of them.',
      };
    }
    if (given.minSsim !== undefined && given.format === undefined) {
      return {
        key: 'format',
        message: 'format is missing: minSsim promises a likeness in a format, so name it.',
      };
    }
    if (given.maxBytes === undefined && given.minSsim === undefined) {
      return {
        key: 'maxBytes',
        message: 'maxBytes and minSsim are both missing: send one of them.',
        details: { missing: ['maxBytes', 'minSsim'] },
      };
    }
    return undefined;
  },
  compile({ maxBytes, minSsim }) {
    if (maxBytes !== undefined) return { encode: { promise: { maxBytes } } };
    return minSsim === undefined ? {} : { encode: { promise: { minSsim } } };
  },
});
