import { fitInto, type Size } from '../pixels/geometry.ts';

import { step } from './operation.ts';
import { choice } from './parameter.ts';

type Kind = 'blur' | 'color' | 'pixel';

/** Longest edge of each kind. */
const EDGE_PX = { blur: 32, color: 1, pixel: 8 } as const;

export const placeholder = step({
  description: 'Makes a tiny image to show while the real one loads.',
  parameters: {
    kind: choice(
      ['blur', 'color', 'pixel'],
      'A small blurred copy, the average colour, or a coarse mosaic.',
      { default: 'blur' },
    ),
  },
  grey: 'keeps',
  copies: 1,
  sizeAfter: 'depends',
  alphaAfter: 'kept',
  changesNothing: 'never',
  cpuMsPerMegapixel: 20,
  // Of an animation it shows the beginning.
  frames: 'first',
  commutesWithFlatten: true,
  size: (input, { kind }) => sizeOf(input, kind),
  async apply(picture, { kind }) {
    // Plain averages: a sharper kernel would let the edges of the picture colour a single pixel.
    await picture.scaleTo(sizeOf(picture, kind), 'linear');
    if (kind === 'blur') await picture.blur(1);
  },
});

function sizeOf(input: Size, kind: Kind): Size {
  if (kind === 'color') return { width: 1, height: 1 };
  return fitInto(input, { width: EDGE_PX[kind], height: EDGE_PX[kind] }, 'inside', false).scaled;
}
