import { operationOp } from '../pixel-op.ts';

export const roundCorners = operationOp('roundCorners', {
  op: 'round_corners',
  example: { radius: '50%', format: 'png' },
});
