import { Type } from '@sinclair/typebox';
import { pixelOp, step } from '../pixel-op.ts';

export const roundCorners = pixelOp({
  op: 'round_corners',
  description: 'Rounds the corners, up to a full circle or ellipse; what is cut off becomes transparent.',
  parameters: {
    radius: Type.Union(
      [
        Type.Integer({ minimum: 0, maximum: 8192 }),
        Type.String({ pattern: '^([0-9]|[1-4][0-9]|50)%$', examples: ['50%'] }),
      ],
      {
        description:
          'Radius in pixels, or as a share of the edges up to 50%, which makes a circle of a square.',
      },
    ),
  },
  example: { radius: '50%', format: 'png' },
  compile: ({ radius }) => ({ steps: [step('roundCorners', { radius })] }),
});
