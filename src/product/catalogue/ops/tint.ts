import { operationOp } from '../pixel-op.ts';

export const tint = operationOp('tint', {
  op: 'tint',
  example: { color: '#ff8800' },
});
