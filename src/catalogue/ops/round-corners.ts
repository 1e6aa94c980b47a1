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
          'Radius in pixels, at most half of the shorter edge, or as a share of both edges up to 50%, which makes a circle of a square.',
      },
    ),
  },
  example: { radius: '50%', format: 'png' },
  compile: ({ radius }) => ({ steps: [step('roundCorners', { radius })] }),
});
