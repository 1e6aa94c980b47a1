import type { InputHeader, Readings } from '../../../../workers/protocol.ts';
import type { Header } from './facts.ts';

/** Facts that the codec does not report, or reports wrongly. */
export function readingsOf({ format, cicp, frames, animated }: Header): Readings {
  // An animation is read as the still picture that stands for it.
  const pictures = animated ? 1 : frames;
  // Of several pictures, one is chosen by its number in the file, which the header does not have.
  const colours = cicp !== undefined && pictures === 1 ? { cicp } : {};
  return { ...colours, ...(format === 'avif' && { pictures }) };
}

/** The header of a still picture, which spares the thread a reading of its own. */
export function hintOf(header: Header): { header?: InputHeader } {
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
