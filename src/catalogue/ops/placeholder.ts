import { operationOp } from '../pixel-op.ts';

export const placeholder = operationOp('placeholder', {
  op: 'placeholder',
  example: { kind: 'blur', format: 'webp' },
});
