import { colour } from '../parameter.ts';
import { pixelOp, step } from '../pixel-op.ts';

export const tint = pixelOp({
  op: 'tint',
  description: 'Colours the picture in one tone and keeps its brightness.',
  parameters: { color: colour('The tone.') },
  example: { color: '#ff8800' },
  compile: ({ color }) => ({ steps: [step('tint', { color })] }),
});
