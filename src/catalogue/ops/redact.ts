import { Type } from '@sinclair/typebox';
import { choice, colour, integer } from '../parameter.ts';
import { pixelOp, step } from '../pixel-op.ts';

const EXAMPLE = { x: 10, y: 10, width: 20, height: 20 };

const REGION = Type.Object(
  {
    x: integer(0, 100_000, 'Left edge in pixels.'),
    y: integer(0, 100_000, 'Top edge in pixels.'),
    width: integer(1, 100_000, 'Width in pixels.'),
    height: integer(1, 100_000, 'Height in pixels.'),
  },
  { additionalProperties: false, examples: [EXAMPLE] },
);

export const redact = pixelOp({
  op: 'redact',
  description:
    'Covers rectangles so that what lay under them is really gone from the file; for text, take the style fill.',
  parameters: {
    regions: Type.Array(REGION, {
      minItems: 1,
      maxItems: 100,
      examples: [[EXAMPLE]],
      description: 'The rectangles to cover, each {x, y, width, height} in pixels; JSON text in a query.',
    }),
    style: choice(
      ['fill', 'blur', 'pixelate'],
      'How rectangles are covered. Only fill is safe for text. blur and pixelate take rectangles less than 24 px apart as one, keep at most 3 x 3 rough colours of it, and fill what is narrower than 96 px.',
      { default: 'fill' },
    ),
    color: colour('Colour of the rectangles that are filled.', { default: '#000000' }),
  },
  example: { regions: [{ x: 40, y: 60, width: 200, height: 80 }], style: 'fill' },
  compile: ({ regions, style, color }) => ({ steps: [step('redact', { regions, style, color })] }),
});
