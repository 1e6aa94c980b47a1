import type { Size } from '../../formats/size.ts';
import { hashesOf } from '../facts/hashes.ts';
import { asSample, MAX_SAMPLE_EDGE_PX } from '../facts/sample.ts';
import { blurBy } from '../gaussian.ts';
import { fitInto } from '../pixels/geometry.ts';
import { scaleTo } from '../sizing.ts';
import { defineStep } from './operation.ts';
import { choice } from './parameter.ts';

type PlaceholderKind = 'blur' | 'color' | 'pixel';

/** Longest side of each kind, in pixels. */
const EDGE_PX = { blur: 32, color: 1, pixel: 8 } as const;

export const placeholder = defineStep({
  description:
    'Makes a tiny image to show while the real one loads; the answer has the ThumbHash and the BlurHash of the real one as well.',
  parameters: {
    kind: choice(
      ['blur', 'color', 'pixel'],
      'A small blurred copy, the average colour, or a coarse mosaic.',
      { default: 'blur' },
    ),
  },
  grey: 'keeps',
  copies: 1,
  alphaAfter: 'kept',
  cpuMsPerMegapixel: 20,
  // An animation is represented by its first frame.
  frames: 'first',
  commutesWithFlatten: true,
  size: (input, { kind }) => sizeOf(input, kind),
  async apply(picture, { kind }, { found }) {
    const result = sizeOf(picture, kind);
    // The picture is scaled to the same size as for a description, so that the hashes are identical.
    await scaleTo(picture, within(picture, MAX_SAMPLE_EDGE_PX));
    found.hashes = hashesOf(asSample(await picture.pixels()));
    // The linear kernel averages only, because a sharper one would let the edges of the picture colour a single pixel.
    await scaleTo(picture, result, 'linear');
    if (kind === 'blur') await blurBy(picture, 1);
  },
});

function sizeOf(input: Size, kind: PlaceholderKind): Size {
  if (kind === 'color') return { width: 1, height: 1 };
  return within(input, EDGE_PX[kind]);
}

function within(input: Size, edgePx: number): Size {
  return fitInto(input, { width: edgePx, height: edgePx }, 'inside', false).scaled;
}
