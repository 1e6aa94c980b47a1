import type { Size } from '../../formats/size.ts';
import { placeholderHashesOf } from '../facts/hashes.ts';
import { gaussianBlur } from '../gaussian.ts';
import { fitIntoBox } from '../pixels/geometry.ts';
import { MAX_SAMPLE_EDGE_PX, toPixelSample } from '../pixels/pixels.ts';
import { scaleToSize } from '../sizing.ts';
import { defineStepOperation } from './operation.ts';
import * as parameter from './parameter.ts';

type PlaceholderKind = 'blur' | 'color' | 'pixel';

/** The longest side of a placeholder in pixels, by its kind. */
const MAX_PLACEHOLDER_EDGE_PX = { blur: 32, color: 1, pixel: 8 } as const;

export const placeholder = defineStepOperation({
  description:
    'Makes a tiny image to show while the real one loads; the answer has the ThumbHash and the BlurHash of the real one as well.',
  parameters: {
    kind: parameter.choice(
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
  size: (input, { kind }) => placeholderSize(input, kind),
  async apply(picture, { kind }, { sideResults }) {
    const result = placeholderSize(picture, kind);
    // The picture is scaled to the size that the metadata endpoint uses, so that the hashes are identical.
    await scaleToSize(picture, scaledWithinEdge(picture, MAX_SAMPLE_EDGE_PX));
    sideResults.hashes = placeholderHashesOf(toPixelSample(await picture.pixels()));
    // The linear kernel only averages. A sharper kernel would let the edges of the picture colour a single pixel.
    await scaleToSize(picture, result, 'linear');
    if (kind === 'blur') await gaussianBlur(picture, 1);
  },
});

function placeholderSize(input: Size, kind: PlaceholderKind): Size {
  if (kind === 'color') return { width: 1, height: 1 };
  return scaledWithinEdge(input, MAX_PLACEHOLDER_EDGE_PX[kind]);
}

function scaledWithinEdge(input: Size, edgePx: number): Size {
  return fitIntoBox(input, { width: edgePx, height: edgePx }, 'inside', false).scaled;
}
