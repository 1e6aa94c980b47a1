import type { TransformTask } from '../protocol.ts';
import { openFile } from './input.ts';
import type { PassContext } from './operations/operation.ts';
import { readPixels } from './pixels/pixels.ts';
import { BadArgument } from './refusal.ts';

/** Reads the second assets of a task, by the same rules as its input. */
export function layerReader({ layers = {} }: TransformTask): PassContext['layer'] {
  return async (assetId, key, prepare) => {
    const file = Object.hasOwn(layers, assetId) ? layers[assetId] : undefined;
    if (file === undefined)
      throw new BadArgument(key, `${key} is "${assetId}", but that asset was not loaded.`);
    const opened = openFile(new Uint8Array(file));
    return opened
      .then((picture) => readPixels(prepare(picture)))
      .catch(() => {
        throw new BadArgument(key, `${key} is "${assetId}", but that asset cannot be decoded.`);
      });
  };
}
