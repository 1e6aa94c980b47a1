import { operationOp } from '../pixel-op.ts';

export const redact = operationOp('redact', {
  op: 'redact',
  example: { regions: [{ x: 40, y: 60, width: 200, height: 80 }], style: 'fill' },
});
