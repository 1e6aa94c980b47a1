import type { Sharp, TrimOptions } from 'sharp';
import { encodeOutput } from '../../transport/output.ts';
import { parseColour } from '../colour/colour.ts';
import { type Box, boundingBoxOf } from '../pixels/geometry.ts';
import { cropToBox } from '../sizing.ts';
import { defineStepOperation } from './operation.ts';
import { colourParameter, numberParameter, optionalParameter } from './parameter.ts';

/** Smallest side of a picture in which sharp can search for edges, in pixels. */
const MIN_EDGE_PX = 3;

export const trimOperation = defineStepOperation({
  description:
    'Cuts away edges that look like the background, by default like the top left pixel. Of an animation it cuts what is background in every frame.',
  parameters: {
    threshold: numberParameter(
      0,
      255,
      'How far a pixel may differ from the background and still be cut away.',
      {
        default: 10,
      },
    ),
    background: optionalParameter(
      colourParameter('The colour to cut away; the top left pixel when left out.'),
    ),
  },
  grey: 'keeps',
  copies: 1,
  sizeAfter: 'found',
  alphaAfter: 'kept',
  cpuMsPerMegapixel: 150,
  async apply(picture, { threshold, background }) {
    if (Math.min(picture.width, picture.height) < MIN_EDGE_PX) return;
    const options: TrimOptions = {
      threshold,
      ...(background !== undefined && { background: parseColour(background, 'background') }),
    };
    if (picture.frames === 1) {
      await picture.turnUpright();
      (await picture.at('trim')).trim(options);
      picture.becomesAbout(picture);
      return;
    }
    let kept: Box | undefined;
    for (const frame of await picture.frameByFrame()) {
      const box = await findBox(frame, options);
      kept = kept === undefined ? box : boundingBoxOf(kept, box);
    }
    if (kept !== undefined) await cropToBox(picture, kept);
  },
});

async function findBox(frame: Sharp, options: TrimOptions): Promise<Box> {
  const { info } = await encodeOutput(frame.trim(options).raw());
  // sharp reports offsets as the distance that the picture was moved: zero or negative.
  return {
    left: -(info.trimOffsetLeft ?? 0),
    top: -(info.trimOffsetTop ?? 0),
    width: info.width,
    height: info.height,
  };
}
