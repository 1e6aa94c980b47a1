import { Bytes } from '../../formats/bytes.ts';
import { avifColours } from '../../formats/heif.ts';
import { asPng } from './as-png.ts';
import { coloursOfCodePoints } from './named-colours.ts';
import { type ColouredFile, withNamedProfile } from './png-colours.ts';

/**
 * Converts an AVIF to a PNG if libvips reads its colours wrongly: it takes colours that are named by code points for
 * sRGB, and colours that are multiplied by alpha for plain ones. Any other AVIF is returned unchanged.
 * @param pictures number of pictures in the file. Of several, one is chosen later, so that its colours are not known.
 */
export async function withAvifColours(
  input: Uint8Array<ArrayBuffer>,
  pictures: number,
): Promise<ColouredFile & { formerFormat?: 'avif' }> {
  const avif = pictures === 1 ? avifColours(new Bytes(input)) : undefined;
  const colours = avif?.codePoints && coloursOfCodePoints(avif.codePoints);
  const named = colours === 'srgb' ? undefined : colours;
  if (named === undefined && !avif?.isPremultiplied) return { input, isHdr: false };
  const png = await asPng(input, avif?.isPremultiplied);
  const coloured = named === undefined ? png : withNamedProfile(png, named, 'rgb');
  return { input: coloured, isHdr: named?.isHdr ?? false, formerFormat: 'avif' };
}
