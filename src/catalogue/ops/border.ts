import { colour, integer } from '../parameter.ts';
import { pixelOp, step } from '../pixel-op.ts';

export const border = pixelOp({
  op: 'border',
  description: 'Draws a frame around the picture; the canvas grows by twice its width.',
  parameters: {
    width: integer(0, 2048, 'Thickness of the frame in pixels.'),
    color: colour('Colour of the frame.', { default: '#000000' }),
    radius: integer(
      0,
      8192,
      'Radius of the rounded outer corners in pixels, which the inner ones follow; 0 leaves them square.',
      { default: 0 },
    ),
  },
  example: { width: 8, color: '#333333' },
  compile: ({ width, color, radius }) => ({ steps: [step('border', { width, color, radius })] }),
});
