import { operationOp } from '../pixel-op.ts';

export const pixelate = operationOp('pixelate', {
  op: 'pixelate',
  example: { size: 16 },
});
