import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { pngChunk } from '../../formats/png.ts';
import { type Cicp, LIMIT_PIXELS } from '../../protocol.ts';
import { outputOf } from '../../transport/output.ts';
import { isHdr, needsProfile, profileFor } from './cicp-profile.ts';

/** Bytes of the signature and of the header chunk with its length, type and checksum. A profile follows directly. */
const PNG_HEAD_BYTES = 8 + 25;

/** A file whose colours a codec reads correctly. */
interface ReadableFile {
  input: Uint8Array<ArrayBuffer>;
  /**
   * Whether its profile describes colours brighter than white. Such a profile is right for these pixels, but not for
   * the result's.
   */
  isHdr: boolean;
  /** Its former format, where it was converted. */
  formerFormat?: 'avif';
}

/**
 * Gives a file whose colours are named by code points an equivalent ICC profile, because libvips reads only profiles
 * and takes all other colours for sRGB. A PNG gets the profile as it is. An AVIF is converted to a PNG with the
 * profile, and keeps its EXIF and XMP.
 */
export async function withNamedColours(
  input: Uint8Array<ArrayBuffer>,
  cicp: Cicp | undefined,
): Promise<ReadableFile> {
  if (cicp === undefined || !needsProfile(cicp)) return { input, isHdr: false };
  const isPng = Buffer.from(input.buffer, input.byteOffset, 8).toString('latin1', 1, 4) === 'PNG';
  const png = isPng ? input : await asPng(input);
  const chunk = profileChunk(profileFor(cicp));
  const bytes = Buffer.concat([png.subarray(0, PNG_HEAD_BYTES), chunk, png.subarray(PNG_HEAD_BYTES)]);
  return { input: bytes, isHdr: isHdr(cicp), ...(!isPng && { formerFormat: 'avif' }) };
}

/** Converts an AVIF to a PNG with all its bits. The compression is low, because the PNG is decoded at once. */
async function asPng(avif: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const pipeline = sharp(avif, { failOn: 'error', limitInputPixels: LIMIT_PIXELS });
  const { depth } = await pipeline.metadata();
  const space = depth === 'uchar' ? 'srgb' : 'rgb16';
  const png = pipeline.keepExif().keepXmp().toColourspace(space).png({ compressionLevel: 1 });
  return (await outputOf(png)).data;
}

function profileChunk(profile: Buffer): Buffer {
  return pngChunk('iCCP', Buffer.concat([Buffer.from('code points\0\0', 'latin1'), deflateSync(profile)]));
}
