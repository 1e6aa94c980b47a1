import sharp, { type Sharp } from 'sharp';
import type { Size } from '../formats/size.ts';
import type { RasterInput, TransformTask } from '../protocol.ts';
import { isDeadlineError } from './failure.ts';
import { openStillPicture } from './input.ts';
import type { PassContext } from './operations/operation.ts';
import { readPixels } from './pixels/pixels.ts';
import { BadArgumentError } from './refusal.ts';
import { secondsLeft } from './work.ts';

/** Returns a function that reads the second pictures of a task by the same rules as its input. */
export function createLayerReader({ layers = {}, deadlineMs }: TransformTask): PassContext['layer'] {
  return async (id, key, prepare) => {
    const raster = Object.hasOwn(layers, id) ? layers[id] : undefined;
    if (raster === undefined)
      throw new BadArgumentError(key, 'The second picture of this step was not loaded.');
    try {
      const pipeline = prepare(...(await opened(raster)));
      return await readPixels(pipeline.timeout({ seconds: secondsLeft(deadlineMs) }));
    } catch (error) {
      if (error instanceof BadArgumentError || isDeadlineError(error)) throw error;
      const message =
        'The second picture of this step cannot be decoded: it is damaged, cut short, or not in a supported format.';
      throw new BadArgumentError(key, message);
    }
  };
}

async function opened({ input, raw }: RasterInput): Promise<[opened: Sharp, size: Size]> {
  return raw === undefined ? openStillPicture(new Uint8Array(input)) : [sharp(input, { raw }), raw];
}
