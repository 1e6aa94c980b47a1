import { alphaLevels } from '../../../workers/image/operations/parameter.ts';
import type { Encode, Pass } from '../../../workers/protocol.ts';
import { encodeOf, framesOf } from './estimates/following.ts';
import type { Header } from './header/header.ts';

/** The settings of a result, once for each format that it may have. */
export function encodesOf({ formats, ...encode }: Encode): Encode[] {
  return formats === undefined ? [encode] : formats.map((format) => ({ ...encode, format }));
}

/**
 * A pass, once for each format that its result may have: the smallest file must not be the one that shows least. These
 * are the formats that hold most of its frames, and of them those that carry the metadata that it keeps. Whether the
 * picture is transparent is known from its pixels: a pass whose format keeps less of that than another one is refused
 * by its worker then.
 * @param header of the file; null if it is not an image.
 */
export function passesOf(pass: Pass, header: Header | null): Pass[] {
  const passes = encodesOf(pass.encode).map((encode) => ({ ...pass, encode }));
  if (header === null || passes.length === 1) return passes;
  const moving = withMost(passes, (one) => framesOf(header, one));
  const complete = withMost(moving, (one) => (carriesMetadata(encodeOf(header, one)) ? 1 : 0));
  const levels = (one: Pass) => alphaLevels(encodeOf(header, one));
  const most = Math.max(...complete.map(levels));
  return complete.map((one) =>
    levels(one) === most ? one : { ...one, encode: { ...one.encode, keepsAlpha: true } },
  );
}

/** The passes for which a measure is largest. */
function withMost(passes: readonly Pass[], measure: (pass: Pass) => number): Pass[] {
  const most = Math.max(...passes.map(measure));
  return passes.filter((one) => measure(one) === most);
}

/** GIF cannot contain EXIF, XMP or rights. */
function carriesMetadata({ metadata = 'strip', format }: Encode): boolean {
  return metadata === 'strip' || format !== 'gif';
}
