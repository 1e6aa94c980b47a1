import { operationOp } from '../pixel-op.ts';

export const grayscale = operationOp('greyscale', {
  op: 'grayscale',
  example: { format: 'png' },
});
