import { operationOp } from '../pixel-op.ts';

export const border = operationOp('border', {
  op: 'border',
  example: { width: 8, color: '#333333' },
});
