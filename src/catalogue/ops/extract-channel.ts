import { choice } from '../parameter.ts';
import { pixelOp, step } from '../pixel-op.ts';

export const extractChannel = pixelOp({
  op: 'extract_channel',
  description: 'Shows one channel of the picture in shades of gray.',
  parameters: { channel: choice(['red', 'green', 'blue', 'alpha'], 'The channel to show.') },
  example: { channel: 'red', format: 'png' },
  compile: ({ channel }) => ({ steps: [step('extractChannel', { channel })] }),
});
