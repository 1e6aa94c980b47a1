import { operationOp } from '../pixel-op.ts';

export const normalize = operationOp('normalise', {
  op: 'normalize',
  example: { lower: 1, upper: 99 },
});
