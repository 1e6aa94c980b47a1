import { ByteReader } from '../../formats/bytes.ts';
import { readAvifColours } from '../../formats/heif.ts';
import { convertToPng } from './as-png.ts';
import { coloursOfCodePoints } from './named-colours.ts';
import { type ColouredFile, withNamedColourProfile } from './png-colours.ts';

/**
 * Converts an AVIF to a PNG if libvips would misread its colours: it takes code points for sRGB, and premultiplied
 * colours for plain ones. Any other AVIF is returned unchanged.
 * @param pictures number of pictures in the file. A file with several is not converted, because the picture is chosen
 *   later.
 */
export async function withReadableAvifColours(
  input: Uint8Array<ArrayBuffer>,
  pictures: number,
): Promise<ColouredFile & { formerFormat?: 'avif' }> {
  const avif = pictures === 1 ? readAvifColours(new ByteReader(input)) : undefined;
  const colours = avif?.codePoints && coloursOfCodePoints(avif.codePoints);
  const named = colours === 'srgb' ? undefined : colours;
  if (named === undefined && !avif?.isPremultiplied) return { input, isHdr: false };
  const png = await convertToPng(input, avif?.isPremultiplied);
  const coloured = named === undefined ? png : withNamedColourProfile(png, named, 'rgb');
  return { input: coloured, isHdr: named?.isHdr ?? false, formerFormat: 'avif' };
}
