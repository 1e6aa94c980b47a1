import type { HeaderReadings, InputHeader } from '../../../../workers/protocol.ts';
import type { ImageHeader } from './facts.ts';

/** Facts that the codec reports wrongly. */
export function headerReadingsOf({ format, frames, animated }: ImageHeader): HeaderReadings {
  // An AVIF animation is read as its still picture.
  return format === 'avif' ? { pictures: animated ? 1 : frames } : {};
}

/** The header of a still picture for the thread, which then need not read it. */
export function inputHeaderHintOf(header: ImageHeader): { header?: InputHeader } {
  const {
    format,
    width,
    height,
    orientation,
    hasAlpha,
    channels,
    bitDepth,
    animated,
    indexed = false,
  } = header;
  if (animated || (format !== 'jpeg' && format !== 'png' && format !== 'webp')) return {};
  const isGrey = channels - Number(hasAlpha) === 1;
  return { header: { format, width, height, orientation, hasAlpha, isGrey, isIndexed: indexed, bitDepth } };
}
