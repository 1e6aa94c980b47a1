import { operationOp } from '../pixel-op.ts';

export const text = operationOp('text', {
  op: 'text',
  example: { text: '© Example', position: 'southeast', size: 24, opacity: 0.7 },
});
