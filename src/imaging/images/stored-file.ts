import { type Header, headerOf } from './header/facts.ts';
import type { ImageObject } from './image-object.ts';

/** A file that is still in a store: it is read when its call has a slot, so that a waiting call holds no bytes. */
export interface StoredFile {
  /** In bytes. */
  length: number;
  /** As they were measured when the file was stored. */
  facts: ImageObject;
  /** @throws ApiError when the file cannot be read. */
  read(): Promise<Uint8Array>;
}

export function isStored(file: Uint8Array | StoredFile): file is StoredFile {
  return !(file instanceof Uint8Array);
}

/** The header of a stored file by its facts: near enough for the estimates of memory and time. */
export function headerOfFacts(facts: ImageObject): Header {
  const { mimeType, orientation, frames, bitDepth, hasAlpha } = facts;
  // The facts give the size as displayed, a header as stored.
  const [width, height] = orientation > 4 ? [facts.height, facts.width] : [facts.width, facts.height];
  const format = facts.format as Header['format'];
  return headerOf({
    ...{ format, mimeType, width, height, frames, orientation, bitDepth, hasAlpha },
    channels: (facts.colorSpace === 'b-w' ? 1 : 3) + Number(hasAlpha),
    animated: frames > 1 && format !== 'tiff',
  });
}
