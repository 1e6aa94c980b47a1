import { Type } from '@sinclair/typebox';
import type { Matrix3x3, Matrix4x4 } from 'sharp';
import { BadArgumentError } from '../refusal.ts';
import { defineStepOperation, IN_PLACE_EFFECTS } from './operation.ts';
import { numberListParameter } from './parameter.ts';

export const recombOperation = defineStepOperation({
  description: 'Mixes the colour channels by a matrix.',
  parameters: {
    matrix: Type.Array(numberListParameter(3, 4, 'Weights of the channels in one result.'), {
      minItems: 3,
      maxItems: 4,
      description: 'A row for each result: 3 rows of 3, or 4 of 4 with alpha.',
    }),
  },
  ...IN_PLACE_EFFECTS,
  cpuMsPerMegapixel: 15,
  rule({ matrix }) {
    if (matrix.every((row) => row.length === matrix.length)) return undefined;
    const message = 'matrix is not square: send 3 rows of 3, or 4 of 4.';
    return new BadArgumentError('matrix', message);
  },
  async apply(picture, { matrix }) {
    if (matrix.length === 4 && !picture.hasAlpha) {
      const message = 'matrix has 4 rows, but the picture has no alpha channel: send 3 rows of 3.';
      throw new BadArgumentError('matrix', message);
    }
    (await picture.at('recomb')).recomb(matrix as unknown as Matrix3x3 | Matrix4x4);
  },
});
