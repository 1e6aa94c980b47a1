import type { ByteReader } from '../../formats/bytes.ts';
import type { PngColours } from '../../formats/png.ts';
import {
  PHOTOMETRIC_INTERPRETATIONS,
  SAMPLE_FORMATS,
  TIFF_PAGE_TAGS,
  type TiffPage,
} from '../../formats/tiff-page.ts';
import { convertGreyToSrgb, greyProfileCurve, isGreyCurveMisread } from './grey-profile.ts';
import { colourSpaceOfCodePoints, coloursOfGamma, type DeclaredColourSpace } from './named-colours.ts';
import type { LightCurve } from './profile-tags.ts';
import { convertRgbToSrgb, type RgbProfile, readRgbProfile, rgbProfileOf } from './rgb-profile.ts';
import { isSrgbProfile } from './srgb-profile.ts';

/**
 * Finds the colours of a PNG or a TIFF that sharp would misread, without decoding a pixel. The pixels of such a file
 * are converted to sRGB before it is read.
 */

const DEEP_PNG_BITS = 16;

export interface MisreadColours {
  /** The curve of a grey picture. */
  greyCurve?: LightCurve | undefined;
  /** The profile of RGB with 16 bits. */
  rgbProfile?: RgbProfile | undefined;
}

/**
 * The colours that a PNG declares. Of its chunks, the first in this order counts: cICP, iCCP, sRGB, gAMA with cHRM.
 * Undefined if the profile takes precedence. A profile of sRGB in 16 bits that need not be kept counts as sRGB.
 */
export function declaredPngColoursOf(
  { bitDepth, codePoints, profile, isSrgb, ...gamma }: PngColours,
  keepsProfile: boolean,
): DeclaredColourSpace | 'srgb' | undefined {
  const ofCodePoints = codePoints && colourSpaceOfCodePoints(codePoints);
  if (ofCodePoints !== undefined) return ofCodePoints;
  if (profile !== undefined)
    return bitDepth === DEEP_PNG_BITS && !keepsProfile && isSrgbProfile(profile()) ? 'srgb' : undefined;
  return isSrgb ? 'srgb' : coloursOfGamma(gamma);
}

/**
 * The colours of a PNG that sharp misreads: some grey, and RGB of 16 bits. Undefined for any other PNG.
 * @param keepsProfile whether the result may keep the colours of the file.
 */
export function misreadPngColoursOf(png: PngColours, keepsProfile: boolean): MisreadColours | undefined {
  const { bitDepth, isGrey, profile } = png;
  const declared = declaredPngColoursOf(png, keepsProfile);
  if (declared === 'srgb') return undefined;
  if (isGrey) {
    const greyCurve = declared?.curve ?? misreadGreyCurve(profile?.(), bitDepth);
    return greyCurve && { greyCurve };
  }
  if (bitDepth !== DEEP_PNG_BITS || (keepsProfile && !declared?.isHdr)) return undefined;
  const rgbProfile = declared === undefined ? readRgbProfile(profile?.()) : rgbProfileOf(declared);
  return rgbProfile && { rgbProfile };
}

/** The curve of a grey profile that sharp misreads; undefined for any other profile. */
function misreadGreyCurve(profile: Uint8Array | undefined, bitDepth: number): LightCurve | undefined {
  const curve = greyProfileCurve(profile);
  return curve && isGreyCurveMisread(curve, bitDepth) ? curve : undefined;
}

/** Whether a page of a TIFF is RGB of more than 8 bits with a profile of sRGB. */
export function hasDeepSrgb(bytes: ByteReader, page: TiffPage): boolean {
  return isDeepRgb(page) && isSrgbProfile(readPageProfile(bytes, page));
}

/**
 * The conversion of pixels, in place, from the profile of a page to sRGB; undefined for a page without a profile that
 * sharp misreads.
 * @param keepsProfile whether the result may keep the colours of the page.
 */
export function readProfileConversion(
  bytes: ByteReader,
  page: TiffPage,
  keepsProfile: boolean,
): ((pixels: { data: Uint8Array | Uint16Array; channels: number }) => void) | undefined {
  const { photometric, bits } = page;
  const profile = readPageProfile(bytes, page);
  if (photometric === PHOTOMETRIC_INTERPRETATIONS.rgb) {
    const rgb = isDeepRgb(page) && !keepsProfile ? readRgbProfile(profile) : undefined;
    return rgb && ((pixels) => convertRgbToSrgb(pixels, rgb));
  }
  const isInverted = photometric === PHOTOMETRIC_INTERPRETATIONS.white;
  if (!isInverted && photometric !== PHOTOMETRIC_INTERPRETATIONS.black) return undefined;
  const curve = misreadGreyCurve(profile, bits);
  return curve && ((pixels) => convertGreyToSrgb(pixels, curve, isInverted));
}

function isDeepRgb({ photometric, bits }: TiffPage): boolean {
  return photometric === PHOTOMETRIC_INTERPRETATIONS.rgb && bits > 8;
}

/** The profile of a page of unsigned integers; undefined if there is none. */
function readPageProfile(bytes: ByteReader, { sampleFormat, entries }: TiffPage): Uint8Array | undefined {
  const entry = entries.get(TIFF_PAGE_TAGS.profile);
  if (sampleFormat !== SAMPLE_FORMATS.unsigned || entry === undefined) return undefined;
  const end = entry.valueAt + entry.claimedBytes;
  return end > bytes.length ? undefined : bytes.slice(entry.valueAt, end);
}
