import { operationOp } from '../pixel-op.ts';

export const alpha = operationOp('opacity', {
  op: 'alpha',
  example: { opacity: 0.5, format: 'png' },
});
