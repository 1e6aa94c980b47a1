import type { Encode, Pass } from '../../../workers/protocol.ts';
import { framesOf } from './estimates/following.ts';
import type { Header } from './header/header.ts';

/** The settings of a result, once for each format that it may have. */
export function encodesOf({ formats, ...encode }: Encode): Encode[] {
  return formats === undefined ? [encode] : formats.map((format) => ({ ...encode, format }));
}

/**
 * A pass, once for each format that its result may have. Of an animation, these are the formats that hold most of its
 * frames: a still picture is smaller, and shows less.
 * @param header of the file; null if it is no image.
 */
export function passesOf(pass: Pass, header: Header | null): Pass[] {
  const passes = encodesOf(pass.encode).map((encode) => ({ ...pass, encode }));
  if (header === null || passes.length === 1) return passes;
  const most = Math.max(...passes.map((one) => framesOf(header, one)));
  return passes.filter((one) => framesOf(header, one) === most);
}
