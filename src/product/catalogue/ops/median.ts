import { operationOp } from '../pixel-op.ts';

export const median = operationOp('median', {
  op: 'median',
  example: { size: 5 },
});
