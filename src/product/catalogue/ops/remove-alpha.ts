import { operationOp } from '../pixel-op.ts';

export const removeAlpha = operationOp('removeAlpha', {
  op: 'remove_alpha',
  example: { format: 'png' },
});
