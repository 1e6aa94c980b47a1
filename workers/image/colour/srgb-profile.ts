import { ByteReader } from '../../formats/bytes.ts';
import { JPEG_MARKERS, jpegHeadSegments } from '../../formats/jpeg.ts';
import { inflateWithLimit, pngChunks } from '../../formats/png.ts';
import { webpChunks } from '../../formats/riff.ts';
import { srgbToLinear } from './colour.ts';
import { readCurve, readTagOffsets, readXyz } from './profile-tags.ts';

/**
 * Recognises the sRGB profile of a file, which many pictures of the web have. Because of such a profile, sharp would
 * convert every pixel from sRGB to sRGB before it scales the picture. When a PNG of 0.7 megapixels is scaled to a width
 * of 300 px, the conversion is 40 % of the work.
 */

/** The most bytes of a profile that is examined. No sRGB profile is larger. */
const MAX_PROFILE_BYTES = 64 * 1024;
/**
 * The first bytes of a JPEG segment that holds a part of the profile. The number of this part and the number of all
 * parts follow.
 */
const JPEG_PROFILE_START = 'ICC_PROFILE\0';
const DEEP_PNG_BITS = 16;

/** The XYZ of the red, green and blue of sRGB under D50 (IEC 61966-2-1, adapted by Bradford's matrix). */
const SRGB_COLORANTS = [
  [0.43607, 0.22249, 0.01392],
  [0.38515, 0.71687, 0.09708],
  [0.14307, 0.06061, 0.7141],
];
const CHANNEL_LETTERS = ['r', 'g', 'b'];
/** The accepted differences from sRGB. Both are below half of one of 255 levels. */
const MAX_COLORANT_DIFFERENCE = 0.001;
const MAX_LEVEL_DIFFERENCE = 0.4;
/** Curves are compared at every fifth level of 0 to 255. */
const COMPARED_LEVEL_STEP = 5;

/**
 * Whether a JPEG, a PNG of 8 bits or a WebP has an ICC profile under which its values mean the same colours as in sRGB.
 */
export function hasSrgbProfile(file: Uint8Array): boolean {
  try {
    return isSrgbProfile(findProfile(new ByteReader(file)));
  } catch {
    // The codec decides about a profile that cannot be read.
    return false;
  }
}

/** The profile of a file; undefined if there is none, and if it is in several segments. */
function findProfile(bytes: ByteReader): Uint8Array | undefined {
  for (const { marker, start, end } of jpegHeadSegments(bytes)) {
    const numbersAt = start + JPEG_PROFILE_START.length;
    if (marker !== JPEG_MARKERS.app2 || bytes.text(start, JPEG_PROFILE_START.length) !== JPEG_PROFILE_START)
      continue;
    return bytes.u8(numbersAt + 1) === 1 ? bytes.slice(numbersAt + 2, end) : undefined;
  }
  for (const { type, start, end } of pngChunks(bytes)) {
    if (type === 'IDAT' || (type === 'IHDR' && bytes.u8(start + 8) === DEEP_PNG_BITS)) return undefined;
    // The chunk holds a name, a zero, the method, and the deflated profile.
    if (type === 'iCCP')
      return inflateWithLimit(bytes.slice(bytes.indexOf(0, start) + 2, end), MAX_PROFILE_BYTES);
  }
  for (const { type, start, end } of webpChunks(bytes)) if (type === 'ICCP') return bytes.slice(start, end);
  return undefined;
}

/**
 * Whether a profile has the primaries and the curve of sRGB, and no lookup tables, which would take precedence over
 * them. False for a profile that is absent or damaged.
 */
export function isSrgbProfile(bytes: Uint8Array | undefined): boolean {
  if (bytes === undefined) return false;
  try {
    return hasSrgbColours(new ByteReader(bytes));
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

function hasSrgbColours(profile: ByteReader): boolean {
  if (profile.text(16, 8) !== 'RGB XYZ ') return false;
  const tags = readTagOffsets(profile);
  if ([...tags.keys()].some((name) => /^[AD]2B/.test(name))) return false;
  // An absent tag gets an offset past the end, where reading throws a RangeError.
  const offsetsOf = (kind: string) =>
    CHANNEL_LETTERS.map((channel) => tags.get(channel + kind) ?? profile.length);
  const hasColorants = offsetsOf('XYZ').every((at, channel) => isNearColorant(profile, at, channel));
  // The three channels usually share one curve, which is then compared only once.
  return hasColorants && [...new Set(offsetsOf('TRC'))].every((at) => isSrgbCurve(profile, at));
}

function isNearColorant(profile: ByteReader, at: number, channel: number): boolean {
  return readXyz(profile, at).every((value, axis) => {
    const expected = SRGB_COLORANTS[channel]?.[axis] ?? Number.NaN;
    return Math.abs(value - expected) < MAX_COLORANT_DIFFERENCE;
  });
}

/** Whether a curve of a profile differs from that of sRGB by less than half a level. */
function isSrgbCurve(profile: ByteReader, at: number): boolean {
  const curve = readCurve(profile, at);
  if (curve === undefined) return false;
  for (let level = 0; level <= 255; level += COMPARED_LEVEL_STEP) {
    const light = curve(level / 255);
    const [lowest, highest] = [level - MAX_LEVEL_DIFFERENCE, level + MAX_LEVEL_DIFFERENCE];
    if (light < srgbToLinear(lowest / 255) || light > srgbToLinear(highest / 255)) return false;
  }
  return true;
}
