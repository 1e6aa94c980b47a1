import { colour, integer, number, optional, position, text as words } from '../parameter.ts';
import { pixelOp, step } from '../pixel-op.ts';

export const text = pixelOp({
  op: 'text',
  description: 'Writes a line or more onto the picture, as text and never as markup.',
  parameters: {
    text: words(1, 500, 'What to write; line breaks are kept.'),
    font: optional(words(1, 100, 'Family name of the font; a sans-serif one when left out.')),
    size: integer(1, 1000, 'Height of the letters in pixels.', { default: 32 }),
    color: colour('Colour of the letters.', { default: '#ffffff' }),
    position: position('Where the text stands; its lines are aligned with that.', { default: 'southeast' }),
    margin: integer(0, 4096, 'Distance from the edges in pixels.', { default: 16 }),
    opacity: number(0, 1, 'How solid the letters are.', { default: 1 }),
    rotate: number(-360, 360, 'Degrees clockwise that the text is turned.', { default: 0 }),
  },
  example: { text: '© Example', position: 'southeast', size: 24, opacity: 0.7 },
  compile: ({ text, font, size, color, position, margin, opacity, rotate }) => ({
    steps: [step('text', { text, font, size, color, position, margin, opacity, rotate })],
  }),
});
