import { operationOp } from '../pixel-op.ts';

export const duotone = operationOp('duotone', {
  op: 'duotone',
  example: { dark: '#1b1464', light: '#ffe26a' },
});
