import { choice } from '../parameter.ts';
import { pixelOp, step } from '../pixel-op.ts';

export const placeholder = pixelOp({
  op: 'placeholder',
  description: 'Makes a tiny image to show while the real one loads.',
  parameters: {
    kind: choice(
      ['blur', 'color', 'pixel'],
      'A small blurred copy, the average colour, or a coarse mosaic.',
      {
        default: 'blur',
      },
    ),
  },
  example: { kind: 'blur', format: 'webp' },
  compile: ({ kind }) => ({ steps: [step('placeholder', { kind })] }),
});
