import { number } from '../parameter.ts';
import { pixelOp, step } from '../pixel-op.ts';

export const rotate = pixelOp({
  op: 'rotate',
  description: 'Turns the picture clockwise by any angle; corners that open up take the background.',
  parameters: {
    angle: number(-360, 360, 'Degrees clockwise; a negative angle turns the other way.'),
  },
  example: { angle: 90 },
  compile: ({ angle, background }) => ({ steps: [step('rotate', { angle, background })] }),
});
