import { operationOp } from '../pixel-op.ts';

export const extractChannel = operationOp('extractChannel', {
  op: 'extract_channel',
  example: { channel: 'red', format: 'png' },
});
